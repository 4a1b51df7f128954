#pragma once

#include <ipybox/core/hex.hpp>
#include <ipybox/core/random_hex.hpp>

#include <sys/random.h>

#include <cstdlib>
#include <vector>

namespace ipybox {

IPYBOX_DECL std::string random_hex(std::size_t bytes) {
    std::vector<unsigned char> random(bytes);
    // Without randomness ids could collide or be guessed: nothing sensible can go on then. (OpenSSL's would cost every
    // thread a state of its own.)
    if (::getentropy(random.data(), random.size()) != 0) std::abort();
    return to_hex(random);
}

} // namespace ipybox
