"""The interfaces of servers: for each how a chat request is sent and its answer read."""
