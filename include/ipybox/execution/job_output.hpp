#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace ipybox::detail {

/**
 * \brief A part of what a job has printed so far.
 * \details Positions count the bytes of everything that was printed, as UTF-8, from the beginning of the job. They
 * never change: what is printed later comes behind, also after `clear_output()`. To read on, ask for what begins at
 * `to`.
 */
struct job_output {
    /// The text from `from` to `to`. If a part in between is not in memory any more, a line in its place tells how many
    /// bytes that is, and in which file they are.
    std::string text;

    /// The position of its first byte: the one that was asked for, moved back to the beginning of its character and to
    /// `end`, or forward behind what was cleared.
    std::uint64_t from = 0;

    /// The position behind its last byte.
    std::uint64_t to = 0;

    /// The position behind everything that was printed so far.
    std::uint64_t end = 0;

    /// How many bytes between `from` and `to` `text` lacks, because they were beyond
    /// `executor_options::output.max_memory`.
    std::uint64_t left_out = 0;

    /// The position in `text` at which the first line about left-out bytes begins. It has no meaning if `left_out` is
    /// 0.
    std::size_t gap_begin = 0;

    /// The position in `text` at which that line ends.
    std::size_t gap_end = 0;

    /// The position behind the bytes that it stands for.
    std::uint64_t behind_gap = 0;

    /// The file that everything goes to since that bound was exceeded, or as much of its beginning as
    /// `executor_options::output.max_spill` allows. Else empty.
    std::filesystem::path spill_file = {};
};

} // namespace ipybox::detail
