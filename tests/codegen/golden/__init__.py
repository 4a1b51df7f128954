"""Tools of the MCP server server.

    from mcptools.server import issue_write
    result = issue_write.run(method=..., owner=...)
    results = await asyncio.gather(issue_write.arun(...), ...)  # beside each other

Tools, with the parameters they require:

issue_write(method, owner, ...) - Create a new or update an existing issue in a repository.
search_repositories(query, ...) - Find repositories.
create_relations(relations) - Create relations between entities.
acr_registry_list(...) - List registries in a subscription.
static_map_image_tool(center, zoom, ...) - Generate a static map image.
create_index(keys, ...) - Create an index for a collection.
api_post_page(parent, ...) - Create a page
list_blocks(page_id, ...)
trial_searcher(...) - Search for clinical trials.
create_todo_task(id, ...)
ping() - Is it there?
get_prices(symbol) - Prices as JSON.
"""

from ._client import package

CLIENT, __getattr__, __dir__ = package(__name__, "server")
