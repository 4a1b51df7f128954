// expect: this type of a host tool has no JSON schema: describe a struct with IPYBOX_TOOL_TYPE(type, members...), an enumeration with NLOHMANN_JSON_SERIALIZE_ENUM, or specialise ipybox::tool_schema

#include <ipybox/tools/host_tool.hpp>

struct order {
    int number = 0;
};

ipybox::host_tool mistake("place", "Places an order", {"order"}, [](order const& placed) { return placed.number; });
