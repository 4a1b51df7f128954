# ipybox::zmq: the component with zmq_transport, for programs that link ipybox::ipybox (ipybox::compiled: ipybox::compiled_zmq).
if(NOT TARGET ipybox_zmq)
  add_library(ipybox_zmq INTERFACE)
  add_library(ipybox::zmq ALIAS ipybox_zmq)
  target_compile_definitions(ipybox_zmq INTERFACE IPYBOX_ZMQ) # ipybox.hpp includes zmq_transport.hpp
  target_link_libraries(ipybox_zmq INTERFACE ipybox::ipybox ipybox::cppzmq)
endif()
