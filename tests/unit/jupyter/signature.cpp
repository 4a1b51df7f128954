#include <ipybox/jupyter/signature.hpp>

#include "support/catch.hpp"

using ipybox::jupyter::signed_frames;
using ipybox::jupyter::signer;

TEST_CASE("signature: test vectors of RFC 4231") {
    // The MAC is over the concatenation, however it is cut into frames.
    SECTION("case 1") {
        signer s(std::string(20, '\x0b'));
        CHECK(s.sign({"Hi", " ", "The", "re"}) == "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    }
    SECTION("case 2") {
        signer s("Jefe");
        CHECK(s.sign({"what do ya want ", "", "for ", "nothing?"}) ==
              "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    }
    SECTION("case 3") {
        signer s(std::string(20, '\xaa'));
        auto const data = std::string(50, '\xdd');
        CHECK(s.sign({data, "", "", ""}) == "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
    }
    SECTION("case 6: a key longer than a block") {
        signer s(std::string(131, '\xaa'));
        CHECK(s.sign({"Test Using Larger Than Block-Size Key", " - ", "Hash Key First", ""}) ==
              "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
    }
}

TEST_CASE("signature: one of jupyter_client") {
    // jupyter_client.session.Session(key=b"secret").sign([b"{}", b"{}", b"{}", b"{}"])
    signer s("secret");
    auto const text = s.sign({"{}", "{}", "{}", "{}"});
    CHECK(text == "34982f0bfec60e7b933ffde06c1ecab0fba073717a95ab943d1dd06f82c2d5e4");
    CHECK(s.sign({"{}", "{}", "{}", "{}"}) == text);
}

TEST_CASE("signature: verify") {
    signer s("secret");
    signed_frames const frames = {"{\"a\":1}", "{}", "{}", "{\"b\":2}"};
    auto const good = s.sign(frames);
    CHECK(s.verify(good, frames));
    CHECK_FALSE(s.verify(good, {"{\"a\":2}", "{}", "{}", "{\"b\":2}"}));
    CHECK_FALSE(s.verify("", frames));
    CHECK_FALSE(s.verify(good.substr(1), frames));
    CHECK_FALSE(s.verify(good + "0", frames));
    auto changed = good;
    changed.back() = changed.back() == '0' ? '1' : '0';
    CHECK_FALSE(s.verify(changed, frames));
    CHECK_FALSE(signer("other").verify(good, frames));
}

TEST_CASE("signature: without a key nothing is signed and everything accepted") {
    signer s("");
    CHECK(s.sign({"a", "b", "c", "d"}).empty());
    CHECK(s.verify("", {"a", "b", "c", "d"}));
    CHECK(s.verify("anything", {"a", "b", "c", "d"}));
}

TEST_CASE("signature: a signer can be moved") {
    signer a("secret");
    auto const text = a.sign({"1", "2", "3", "4"});
    signer b(std::move(a));
    CHECK(b.sign({"1", "2", "3", "4"}) == text);
}
