"""What `vulture` may not call dead, as it wants to be told: by using it. This file is never run."""
# ruff: noqa: B018, F821
# mypy: ignore-errors

# Called or read by the library that it is handed to: http.server, asyncio, click, rich, sqlite3, textual.
_.protocol_version, _.disable_nagle_algorithm, _.log_message, _.do_GET, _.block_on_close, _.daemon_threads
_.pipe_data_received, _.pipe_connection_lost, _.connection_lost, exc
_.format_commands
_.no_wrap, _.overflow
_.row_factory
_.CSS_PATH, _.ENABLE_COMMAND_PALETTE, _.theme, _.border_title, _.border_subtitle, _.cursor_position
# By import-linter, and by Python's import system.
_.ImportTable, _.type_name, verbose, _.render_broken_contract
_.find_spec, _.exec_module
# Python's own: a name of a module that is looked up late.
__getattr__
# Keys of piloop.toml without an effect yet (`herdr.config.later`).
_.mcp, _.scout, _.startup_dialogs, _.entire_agent, _.session_id_pattern, _.headers_env, _.bearer_token_env
_.confidence
# Read by plugins, or by whoever reads the JSON of a command.
_.log_dir, _.trajectory, _.vendor, _.head_repo, _.repo_root
# Columns that only SQL reads.
_.briefed_to, _.judged_at, _.purpose, _.acked_by
