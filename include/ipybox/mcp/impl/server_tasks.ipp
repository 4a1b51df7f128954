#pragma once

#include <ipybox/core/random_hex.hpp>
#include <ipybox/mcp/impl/object_text.hpp>
#include <ipybox/mcp/json_writer.hpp>
#include <ipybox/mcp/raw_json.hpp>
#include <ipybox/mcp/server_tasks.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <ctime>
#include <utility>

namespace ipybox::mcp {
namespace detail {

inline std::string_view name_of(server_task::phase phase) noexcept {
    switch (phase) {
    case server_task::phase::working: return "working";
    case server_task::phase::input_required: return "input_required";
    case server_task::phase::completed: return "completed";
    case server_task::phase::failed: return "failed";
    case server_task::phase::cancelled: return "cancelled";
    }
    return "failed";
}

} // namespace detail

IPYBOX_DECL bool server_tasks::has_room() const {
    return tasks_.size() < most_ ||
           std::any_of(tasks_.begin(), tasks_.end(), [](auto const& task) { return task->has_ended(); });
}

IPYBOX_DECL server_task& server_tasks::add(std::shared_ptr<server::client_description const> client,
                                           server_call_id call, std::chrono::milliseconds lifetime,
                                           clock::time_point now) {
    if (tasks_.size() >= most_) {
        auto const old = std::find_if(tasks_.begin(), tasks_.end(), [](auto const& task) { return task->has_ended(); });
        if (old != tasks_.end()) tasks_.erase(old);
    }
    auto made = std::make_unique<server_task>();
    made->id = random_hex(16);
    made->client = std::move(client);
    made->created = made->updated = now;
    made->lifetime = lifetime;
    made->call = call;
    return *tasks_.emplace_back(std::move(made));
}

IPYBOX_DECL server_task* server_tasks::find(std::string_view id, detail::era which) {
    auto const found = std::find_if(tasks_.begin(), tasks_.end(), [&](auto const& task) {
        return task->id == id && detail::era_of(*task->client) == which;
    });
    return found == tasks_.end() ? nullptr : found->get();
}

IPYBOX_DECL server_tasks::clock::time_point server_tasks::deadline() const noexcept {
    auto next = clock::time_point::max();
    for (auto const& task : tasks_) next = std::min(next, task->created + task->lifetime);
    return next;
}

IPYBOX_DECL std::unique_ptr<server_task> server_tasks::take_expired(clock::time_point now) {
    auto const late = std::find_if(tasks_.begin(), tasks_.end(),
                                   [now](auto const& task) { return task->created + task->lifetime <= now; });
    if (late == tasks_.end()) return nullptr;
    auto taken = std::move(*late);
    tasks_.erase(late);
    return taken;
}

IPYBOX_DECL std::string server_tasks::write(server_task const& task, server_task::phase phase,
                                            std::vector<rpc_member> const& before,
                                            std::vector<rpc_member> const& after) const {
    bool const modern = task.client->is_stateless;
    detail::object_text text;
    for (auto const& [name, value] : before) text.json(name, value);
    text.string("taskId", task.id).string("status", detail::name_of(phase));
    if (!task.message.empty()) text.string("statusMessage", task.message);
    text.string("createdAt", time_text(task.created)).string("lastUpdatedAt", time_text(task.updated));
    text.json(modern ? "ttlMs" : "ttl", std::to_string(task.lifetime.count()));
    text.json(modern ? "pollIntervalMs" : "pollInterval", std::to_string(poll_interval));
    for (auto const& [name, value] : after) text.json(name, value);
    return text.take();
}

/// ISO 8601.
IPYBOX_DECL std::string server_tasks::time_text(clock::time_point at) const {
    auto const wall = wall_epoch_ + std::chrono::duration_cast<std::chrono::system_clock::duration>(at - epoch_);
    auto const seconds = std::chrono::system_clock::to_time_t(wall);
    std::tm parts{};
    std::array<char, 32> text{};
    ::gmtime_r(&seconds, &parts);
    auto const size = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
    return {text.data(), size};
}

IPYBOX_DECL std::optional<std::chrono::milliseconds> read_task_lifetime(std::string_view task) {
    auto const value = read_json(task).value_or(nullptr);
    auto const ttl = value.is_object() ? value.find("ttl") : value.end();
    if (ttl == value.end() || !ttl->is_number_unsigned()) return std::nullopt;
    constexpr std::uint64_t shortest = 1000; // a client could not ask for it else
    constexpr std::uint64_t longest = shortest * 60 * 60 * 24 * 365;
    return std::chrono::milliseconds(std::clamp(ttl->get<std::uint64_t>(), shortest, longest));
}

} // namespace ipybox::mcp
