#pragma once

#include <ipybox/codegen/impl/directory.hpp>
#include <ipybox/codegen/impl/package_mark.hpp>
#include <ipybox/codegen/impl/write_package.hpp>
#include <ipybox/codegen/python_name.hpp>
#include <ipybox/codegen/root_index.hpp>
#include <ipybox/codegen/schema.hpp>
#include <ipybox/codegen/support_source.hpp>
#include <ipybox/core/checksum.hpp>
#include <ipybox/core/json_census.hpp>
#include <ipybox/core/json_text.hpp>
#include <ipybox/core/random_hex.hpp>
#include <ipybox/core/same_json.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace ipybox::codegen {
namespace detail {

inline constexpr char const* list_file = "_schemas.json";
inline constexpr std::size_t largest_kept = 16u << 20; ///< bytes of a file that was changed or added by hand
inline constexpr std::size_t most_kept = 64u << 20;    ///< bytes of all such files of a package

inline std::string beside(std::string const& server) { return "." + server + ".tmp-"; }

/// Whether the directory was generated: its list begins as only ours does.
inline result<bool> is_ours(directory const& parent, std::string const& name) {
    auto const package = parent.open(name);
    if (!package) return tl::unexpected<error>(package.error());
    auto const mark = "{\"generator\":\"" + std::string(generator_mark) + "\"";
    auto const list = package->read(list_file, mark.size());
    if (!list) return tl::unexpected<error>(list.error());
    return *list && **list == mark;
}

inline tl::unexpected<error> not_ours(std::filesystem::path const& path) {
    return failure(errc::invalid_argument, path.string() + " is no package that was generated: move it away, or take "
                                                           "another name or directory");
}

/// Whether there is a package to be replaced. \par Errors errc::invalid_argument — something else is there
inline result<bool> is_there(directory const& root, std::string const& server) {
    auto const kind = root.kind_of(server);
    if (!kind) return tl::unexpected<error>(kind.error());
    if (*kind == entry_kind::nothing) return false;
    if (*kind != entry_kind::directory) return not_ours(root.path() / server);
    auto ours = is_ours(root, server);
    if (ours && !*ours) return not_ours(root.path() / server);
    return ours;
}

/// Files that a killed generator left behind. Those that cannot be removed stay, and do no harm.
inline void remove_leftovers(directory const& root, std::string const& server) {
    if (auto const names = root.names())
        for (auto const& name : *names)
            if (name.starts_with(beside(server))) (void)root.remove(name);
}

inline result<void> write_files(directory const& root, std::string const& name,
                                std::map<std::string, std::string> const& files) {
    auto const made = root.make_below(name);
    if (!made) return tl::unexpected<error>(made.error());
    for (auto const& [file, text] : files)
        if (auto written = made->write(file, text); !written) return written;
    return made->flush_all();
}

/// Puts what is written under `name` in the place of the package.
inline result<void> put_in_place(directory const& root, std::string const& name, std::string const& server) {
    auto const replaces = is_there(root, server);
    if (!replaces) return tl::unexpected<error>(replaces.error());
    if (!*replaces) return root.rename(name, server);
    if (auto exchanged = root.exchange(name, server); !exchanged) return exchanged;
    // code that is not trusted may have put something else there meanwhile
    auto const ours = is_ours(root, name);
    if (ours && *ours) return {};
    if (auto back = root.exchange(name, server); !back) return back;
    return not_ours(root.path() / server);
}

/// The files that replace a package that is there.
struct merged_package {
    std::map<std::string, std::string> files;
    std::vector<generated_sources::notice> notices = {};
    bool is_there = false; ///< all of it, already
};

/// The list of a package. \par Errors errc::invalid_argument — it is larger than any that is built from
inline result<std::optional<std::string>> list_of(directory const& package) {
    auto list = package.read(list_file, largest_list.bytes + 1);
    if (list && *list && ipybox::detail::count_json(**list, largest_list).excess != ipybox::detail::json_excess::none)
        return failure(
            errc::invalid_argument,
            (package.path() / list_file).string() +
                " has more than 16 MiB, 1,000,000 values or 500 levels: remove the package, and generate it anew");
    return list;
}

inline tl::unexpected<error> kept_too_much(std::filesystem::path const& what, std::string const& bound) {
    return failure(errc::invalid_argument, what.string() + " has more than " + bound +
                                               " that would have to be kept: move it away, or generate elsewhere");
}

/// The checksums of the files of a package as they were generated; none in packages of before there were any.
inline std::map<std::string, std::string> generated_checksums(std::string_view list) {
    std::map<std::string, std::string> checksums;
    auto const document = ipybox::detail::parse_json(list);
    auto const listed = document.is_object() ? document.find("checksums") : document.end();
    if (listed == document.end() || !listed->is_object()) return checksums;
    for (auto const& [name, value] : listed->items())
        if (value.is_string()) checksums[name] = value.get<std::string>();
    return checksums;
}

/// The fate of a file whose package is generated anew.
enum class file_fate {
    stays,        ///< it would be generated as it was
    is_added,     ///< it was never generated, and stays
    is_put_aside, ///< it was changed, and is generated otherwise
    goes
};

inline file_fate fate_of(std::string const& name, std::string const& text, generated_package const& package,
                         std::map<std::string, std::string> const& before) {
    auto const now = package.files.find(name);
    auto const old = before.find(name);
    if (old == before.end()) return now == package.files.end() ? file_fate::is_added : file_fate::goes;
    if (now != package.files.end() && old->second == checksum(now->second)) return file_fate::stays;
    return old->second == checksum(text) ? file_fate::goes : file_fate::is_put_aside;
}

/// Keeps what was added to the files of a package that is there, and what stands beside them.
inline result<merged_package> merge(directory const& root, generated_package const& package) {
    merged_package merged{package.files};
    auto const there = root.open(package.server_name);
    if (!there) return tl::unexpected<error>(there.error());
    auto const list = list_of(*there);
    if (!list) return tl::unexpected<error>(list.error());
    auto const before = generated_checksums(list->value_or(""));
    auto const entries = there->names();
    if (!entries) return tl::unexpected<error>(entries.error());
    if (before.empty()) return merged;

    std::size_t present = 0, kept = 0;
    for (auto const& name : *entries) {
        auto const kind = there->kind_of(name);
        if (name == list_file || !kind || *kind != entry_kind::file) continue;
        auto const text = there->read(name, largest_kept + 1);
        if (!text || !*text) continue;
        if ((*text)->size() > largest_kept) return kept_too_much(there->path() / name, "16 MiB");
        auto const fate = fate_of(name, **text, package, before);
        present += fate == file_fate::stays;
        if (fate == file_fate::goes || (fate == file_fate::stays && **text == package.files.at(name))) continue;
        kept += (*text)->size();
        if (kept > most_kept) return kept_too_much(there->path(), "64 MiB");
        merged.files[fate == file_fate::is_put_aside ? name + ".edited" : name] = **text;
        if (fate != file_fate::is_put_aside) continue;
        auto notice = name + " was changed by hand and is generated anew; its text is in ";
        merged.notices.push_back({{}, notice.append(name).append(".edited")});
    }
    merged.is_there = *list == package.files.at(list_file) && present + 1 == package.files.size();
    return merged;
}

inline bool is_file_name(std::string const& name) {
    return !name.empty() && name != "." && name != ".." && name.size() <= 255 &&
           name.find_first_of(std::string_view("/\0", 2)) == std::string::npos;
}

} // namespace detail

IPYBOX_DECL result<generated_sources> detail::write_package(std::filesystem::path const& root_dir,
                                                            generated_package const& package,
                                                            generate_options const& options) {
    auto const& server = package.server_name;
    if (auto fits = check_package_name(server); !fits) return failure(fits);
    for (auto const& [name, text] : package.files)
        if (!detail::is_file_name(name)) return failure(errc::invalid_argument, "a file of a package has no name");

    auto root = detail::directory::make(root_dir, options.code_dir);
    if (!root) return failure(root);
    auto const lock = root->lock(server + ".lock", options.patience);
    if (!lock) return tl::unexpected<error>(lock.error());
    auto const there = detail::is_there(*root, server);
    if (!there) return tl::unexpected<error>(there.error());
    detail::remove_leftovers(*root, server);
    auto const merged = *there ? detail::merge(*root, package) : detail::merged_package{package.files};
    if (!merged) return tl::unexpected<error>(merged.error());
    generated_sources written{root_dir / server, package.modules, package.notices};
    written.notices.insert(written.notices.end(), merged->notices.begin(), merged->notices.end());
    if (merged->is_there) {
        if (auto done = detail::write_root_index(*root); !done) return failure(done);
        return written;
    }

    auto const made = detail::beside(server) + random_hex(8);
    auto done = detail::write_files(*root, made, merged->files);
    if (done) done = detail::write_root_index(*root);
    if (done) done = detail::put_in_place(*root, made, server);
    if (!done) {
        (void)root->remove(made); // the error is the one before
        return failure(done);
    }
    // from here on the new package is there; the old one goes, now or as a leftover
    (void)root->remove(made);
    if (auto flushed = root->flush(); !flushed)
        written.notices.push_back({{}, "a crash may bring the old package back: " + flushed.error().text()});
    return written;
}

namespace detail {

/// The list that a package was generated from; nothing where there is no package. Makes no directory.
inline result<std::optional<std::string>> written_list(std::filesystem::path const& root_dir,
                                                       std::string const& server) {
    std::error_code unknown;
    if (!std::filesystem::exists(root_dir, unknown) && !unknown) return std::nullopt;
    auto root = directory::make(root_dir, {});
    if (!root) return failure(root);
    auto const there = is_there(*root, server);
    if (!there) return tl::unexpected<error>(there.error());
    if (!*there) return std::nullopt;
    auto const package = root->open(server);
    if (!package) return tl::unexpected<error>(package.error());
    auto list = list_of(*package);
    if (!list) return tl::unexpected<error>(list.error());
    return std::optional(std::move(*list));
}

} // namespace detail

IPYBOX_DECL result<generated_package::changes> detail::compare_package(std::filesystem::path const& root_dir,
                                                                       generated_package const& now) {
    auto const text = detail::written_list(root_dir, now.server_name);
    if (!text) return tl::unexpected<error>(text.error());

    auto const entries = [](std::string_view list) {
        std::map<std::string, ordered_json> by_name;
        auto const document = ipybox::detail::parse_ordered_json(list);
        if (document.is_object() && document.contains("tools") && document.at("tools").is_array())
            for (auto const& tool : document.at("tools"))
                if (tool.is_object() && tool.contains("name") && tool.at("name").is_string())
                    by_name[tool.at("name").get<std::string>()] = tool;
        return by_name;
    };
    auto const before = entries(text->value_or(""));
    auto const listed = entries(now.files.at(detail::list_file));
    generated_package::changes changes;
    for (auto const& [name, tool] : listed) {
        auto const old = before.find(name);
        if (old == before.end())
            changes.added.push_back(name);
        else if (!ipybox::detail::same_json(old->second, tool))
            changes.changed.push_back(name);
    }
    for (auto const& [name, tool] : before)
        if (!listed.contains(name)) changes.removed.push_back(name);
    return changes;
}

} // namespace ipybox::codegen
