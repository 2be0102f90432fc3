-- The first schema. Times are UTC, ISO 8601 with milliseconds. `actor` is who wrote the row last: human, orchestrator,
-- daemon, or an agent such as worker#12. Nothing is encoded in sentences: what a program must know has a column.

CREATE TABLE projects (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    path TEXT NOT NULL UNIQUE,
    state TEXT NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'paused', 'stopped')),
    state_reason TEXT,
    stopped_at TEXT,                                          -- agents have ten minutes from here
    stopped_by TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(stopped_by)),  -- what of [stop] stopped it, as a JSON array
    resumed_at TEXT,                                          -- failed starts before this hold nothing up
    held_since TEXT,                                          -- too many starts failed: nothing is launched
    spent REAL,                                               -- US dollars, as [spend] command printed them
    spent_at TEXT,
    spend_error TEXT,                                         -- why the latest look gave no number
    config TEXT NOT NULL CHECK (json_valid(config)),          -- the last good piloop.toml, as JSON
    config_error TEXT,                                        -- what is wrong with the file now, when it is
    evaluator_id INTEGER REFERENCES evaluators (id),
    head_id INTEGER REFERENCES candidates (id),               -- the latest keep on the trunk
    actor TEXT NOT NULL,
    created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    updated_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
) STRICT;

CREATE TABLE evaluators (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    project_id INTEGER NOT NULL REFERENCES projects (id),
    key TEXT NOT NULL,                                        -- hash of all that makes two scores comparable
    commit_sha TEXT NOT NULL,                                 -- where the protected files are taken from
    definition TEXT NOT NULL CHECK (json_valid(definition)),
    actor TEXT NOT NULL,
    created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    UNIQUE (project_id, key)
) STRICT;

CREATE TABLE ideas (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    project_id INTEGER NOT NULL REFERENCES projects (id),
    title TEXT NOT NULL,
    hypothesis TEXT NOT NULL DEFAULT '',
    plan TEXT,
    status TEXT NOT NULL DEFAULT 'ready'
        CHECK (status IN ('seed', 'proposed', 'ready', 'scheduled', 'done', 'parked', 'rejected')),
    priority INTEGER NOT NULL DEFAULT 2 CHECK (priority BETWEEN 0 AND 4),
    harness TEXT,                                             -- pins
    model TEXT,
    base_id INTEGER REFERENCES candidates (id),
    source TEXT NOT NULL,                                     -- who filed it
    provenance TEXT,
    family TEXT,
    attempts INTEGER CHECK (attempts >= 1),                   -- NULL: the project's default
    outside_key TEXT,                                         -- what it is called where a plugin found it
    sweep_id INTEGER REFERENCES sweeps (id),                  -- of a seed: the latest sweep that was given it
    sweeps INTEGER NOT NULL DEFAULT 0,                        -- how many sweeps were given it
    actor TEXT NOT NULL,
    created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    updated_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    UNIQUE (project_id, title),
    UNIQUE (project_id, outside_key)
) STRICT;
CREATE INDEX ideas_by_status ON ideas (project_id, status, priority, id);
CREATE INDEX ideas_by_source ON ideas (project_id, source);
CREATE INDEX ideas_by_family ON ideas (project_id, family, status);
CREATE INDEX pinned_ideas ON ideas (project_id, status, priority, id) WHERE base_id IS NOT NULL;

CREATE TABLE idea_links (
    idea_id INTEGER NOT NULL REFERENCES ideas (id),
    target_id INTEGER NOT NULL REFERENCES ideas (id),
    kind TEXT NOT NULL CHECK (kind IN ('after', 'supersedes')),
    acted_at TEXT,                                            -- the daemon has rejected, or raised a lost prerequisite
    actor TEXT NOT NULL,
    PRIMARY KEY (idea_id, target_id, kind),
    CHECK (idea_id <> target_id)
) STRICT;
CREATE INDEX links_by_target ON idea_links (target_id, kind);
CREATE INDEX open_links ON idea_links (kind, target_id) WHERE acted_at IS NULL;

CREATE TABLE runs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    project_id INTEGER NOT NULL REFERENCES projects (id),
    idea_id INTEGER NOT NULL REFERENCES ideas (id),
    number INTEGER NOT NULL,                                  -- 1 for the idea's first run
    state TEXT NOT NULL DEFAULT 'queued'
        CHECK (state IN ('queued', 'running', 'succeeded', 'failed', 'timed_out', 'cancelled')),
    end_cause TEXT CHECK (end_cause IN ('finished', 'finding_only', 'no_commits', 'recovered_only', 'start_failed',
        'timed_out', 'cancelled', 'process_error', 'blocked', 'refused', 'stopped')),
    end_detail TEXT,
    counts INTEGER NOT NULL DEFAULT 1 CHECK (counts IN (0, 1)),   -- whether it is an attempt
    base_id INTEGER NOT NULL REFERENCES candidates (id),
    is_branch INTEGER NOT NULL DEFAULT 0 CHECK (is_branch IN (0, 1)),
    harness TEXT NOT NULL,
    model TEXT,
    branch TEXT,                                              -- git branch and worktree of the run
    worktree TEXT,
    brief TEXT,                                               -- the exact text that the latest agent got
    failed_starts INTEGER NOT NULL DEFAULT 0,
    cancel_requested INTEGER NOT NULL DEFAULT 0 CHECK (cancel_requested IN (0, 1)),
    queued_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    started_at TEXT,
    finished_at TEXT,
    settled_at TEXT,                                          -- its commits are judged and its idea has moved
    actor TEXT NOT NULL,
    UNIQUE (idea_id, number)
) STRICT;
CREATE UNIQUE INDEX one_open_run ON runs (idea_id) WHERE state IN ('queued', 'running');
CREATE INDEX unsettled_runs ON runs (project_id) WHERE settled_at IS NULL;
CREATE INDEX runs_by_project ON runs (project_id, id);
CREATE INDEX runs_by_state ON runs (project_id, state);
CREATE INDEX counted_runs ON runs (project_id, settled_at) WHERE counts = 1;

-- Work of an agent that tries no idea: research on seeds and for new ideas, and the watchdog's looks.
CREATE TABLE sweeps (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    project_id INTEGER NOT NULL REFERENCES projects (id),
    role TEXT NOT NULL CHECK (role IN ('research', 'watchdog')),
    trigger TEXT NOT NULL CHECK (trigger IN ('seed', 'low_water', 'incident', 'interval', 'closing')),
    ideas INTEGER NOT NULL DEFAULT 0,                         -- how many ideas of its own it may file
    state TEXT NOT NULL DEFAULT 'queued'
        CHECK (state IN ('queued', 'running', 'done', 'failed', 'timed_out', 'cancelled')),
    end_detail TEXT,
    base_id INTEGER NOT NULL REFERENCES candidates (id),      -- the head that its worktree is at
    harness TEXT NOT NULL,
    model TEXT,
    worktree TEXT,                                            -- while there is one
    brief TEXT,
    failed_starts INTEGER NOT NULL DEFAULT 0,
    cancel_requested INTEGER NOT NULL DEFAULT 0 CHECK (cancel_requested IN (0, 1)),
    queued_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    started_at TEXT,
    finished_at TEXT,
    actor TEXT NOT NULL
) STRICT;
CREATE INDEX sweeps_by_role ON sweeps (project_id, role, id);
CREATE INDEX open_sweeps ON sweeps (project_id) WHERE state IN ('queued', 'running') OR worktree IS NOT NULL;

-- What the watchdog is told of. One row for each, so that none is looked into twice.
CREATE TABLE anomalies (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    project_id INTEGER NOT NULL REFERENCES projects (id),
    kind TEXT NOT NULL
        CHECK (kind IN ('failed_run', 'failed_start', 'no_change', 'idle_queue', 'silent_agent')),
    target_kind TEXT NOT NULL,
    target_id INTEGER NOT NULL,
    detail TEXT NOT NULL,
    incident INTEGER NOT NULL CHECK (incident IN (0, 1)),     -- whether it asks for a sweep of its own
    sweep_id INTEGER REFERENCES sweeps (id),                  -- the sweep that looks into it
    actor TEXT NOT NULL,
    at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    UNIQUE (project_id, kind, target_kind, target_id)
) STRICT;
CREATE INDEX open_incidents ON anomalies (project_id) WHERE incident = 1 AND sweep_id IS NULL;

CREATE TABLE agents (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    project_id INTEGER NOT NULL REFERENCES projects (id),
    run_id INTEGER REFERENCES runs (id),
    sweep_id INTEGER REFERENCES sweeps (id),
    role TEXT NOT NULL DEFAULT 'worker' CHECK (role IN ('worker', 'research', 'watchdog', 'lead')),
    harness TEXT NOT NULL,
    model TEXT,
    runtime TEXT NOT NULL DEFAULT 'herdr' CHECK (runtime IN ('herdr', 'subprocess')),
    state TEXT NOT NULL DEFAULT 'starting'
        CHECK (state IN ('starting', 'idle', 'busy', 'blocked', 'failed_turn', 'ended', 'unknown')),
    cause TEXT,
    cause_detail TEXT,
    failed_start INTEGER NOT NULL DEFAULT 0 CHECK (failed_start IN (0, 1)),
    session_id TEXT NOT NULL,                                 -- the conversation's id, for harnesses that take one
    token_hash TEXT NOT NULL,                                 -- SHA-256 of the token its requests must carry
    briefed_to INTEGER NOT NULL DEFAULT 0,                    -- comments up to this id are in its brief
    session TEXT, window TEXT, pane TEXT,                     -- tmux ids
    pid INTEGER,                                              -- of the harness
    launched_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    started_at TEXT,                                          -- its process ran
    ready_at TEXT,
    warned_at TEXT,                                           -- told that its time is nearly up
    ended_at TEXT,
    exit_status INTEGER, exit_signal INTEGER,
    tokens_in INTEGER, tokens_out INTEGER, tokens_cached INTEGER, cost REAL,
    last_line TEXT,
    actor TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX one_live_agent ON agents (run_id) WHERE state <> 'ended';
CREATE UNIQUE INDEX one_live_sweeper ON agents (sweep_id) WHERE state <> 'ended';
CREATE INDEX agents_by_run ON agents (run_id);
CREATE INDEX agents_by_sweep ON agents (sweep_id) WHERE sweep_id IS NOT NULL;
CREATE INDEX live_agents ON agents (project_id) WHERE state <> 'ended';
CREATE INDEX agent_tokens ON agents (project_id, tokens_in, tokens_out, tokens_cached);
CREATE INDEX failed_starts ON agents (project_id, ended_at) WHERE failed_start = 1;

CREATE TABLE candidates (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    project_id INTEGER NOT NULL REFERENCES projects (id),
    run_id INTEGER REFERENCES runs (id),
    parent_id INTEGER REFERENCES candidates (id),
    tree_sha TEXT NOT NULL,                                   -- what makes it distinct
    commit_sha TEXT NOT NULL,
    subject TEXT NOT NULL,
    origin TEXT NOT NULL CHECK (origin IN ('baseline', 'run', 'rebase', 'imported', 'recovered', 'skipped')),
    verdict TEXT CHECK (verdict IN ('keep', 'interesting', 'discard', 'crash')),
    cause TEXT CHECK (cause IN ('note', 'moved', 'protected', 'policy', 'override')),
    rule TEXT,                                                -- which rule decided
    reason TEXT,                                              -- the same for a person
    note TEXT,                                                -- Piloop-Note, by the worker
    touched TEXT CHECK (touched IS NULL OR json_valid(touched)),                 -- protected files it changed, as a JSON array
    bar_id INTEGER REFERENCES candidates (id),                -- what it was judged against
    on_trunk INTEGER NOT NULL DEFAULT 0 CHECK (on_trunk IN (0, 1)),
    judged_at TEXT,
    judged_by TEXT,
    judge_again INTEGER NOT NULL DEFAULT 0 CHECK (judge_again IN (0, 1)),  -- once its new score is there
    actor TEXT NOT NULL,
    created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    UNIQUE (project_id, tree_sha)
) STRICT;
CREATE INDEX candidates_by_run ON candidates (run_id);
CREATE INDEX candidates_by_project ON candidates (project_id, id);
CREATE INDEX candidates_by_verdict ON candidates (project_id, verdict, run_id);
CREATE INDEX candidates_to_judge ON candidates (project_id) WHERE judge_again = 1;
CREATE INDEX trunk ON candidates (project_id, id) WHERE verdict = 'keep' AND on_trunk = 1;

-- Every commit of a run, in order, and the candidate it is: two commits with one tree are one candidate.
CREATE TABLE run_commits (
    run_id INTEGER NOT NULL REFERENCES runs (id),
    position INTEGER NOT NULL,
    commit_sha TEXT NOT NULL,
    candidate_id INTEGER NOT NULL REFERENCES candidates (id),
    PRIMARY KEY (run_id, position),
    UNIQUE (run_id, commit_sha)
) STRICT;

CREATE TABLE measurements (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    candidate_id INTEGER NOT NULL REFERENCES candidates (id),
    evaluator_id INTEGER NOT NULL REFERENCES evaluators (id),
    purpose TEXT NOT NULL DEFAULT 'score' CHECK (purpose IN ('score', 'earlier')),
    state TEXT NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'running', 'done')),
    metrics TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(metrics)),
    error TEXT,
    seconds REAL,
    queued_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    started_at TEXT,
    finished_at TEXT,
    actor TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX one_score ON measurements (candidate_id, evaluator_id) WHERE purpose = 'score';
CREATE INDEX open_measurements ON measurements (state, id) WHERE state <> 'done';

CREATE TABLE comments (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    project_id INTEGER NOT NULL REFERENCES projects (id),
    target_kind TEXT NOT NULL CHECK (target_kind IN ('project', 'idea', 'run', 'candidate', 'agent', 'comment')),
    target_id INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('note', 'finding', 'decision', 'escalation')),
    body TEXT NOT NULL CHECK (body <> ''),
    priority INTEGER CHECK (priority BETWEEN 0 AND 4),        -- with one it is in the inbox until it is acknowledged
    about_kind TEXT, about_id INTEGER,                        -- what its thread is on: a trigger follows the replies
    acked_at TEXT,
    acked_by TEXT,
    actor TEXT NOT NULL,                                      -- its author
    created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    CHECK (kind <> 'escalation' OR priority IS NOT NULL)
) STRICT;
CREATE INDEX comments_by_target ON comments (target_kind, target_id, id);
CREATE INDEX comments_by_project ON comments (project_id, id);
CREATE INDEX comments_by_about ON comments (about_kind, about_id, id);
CREATE INDEX comments_by_actor ON comments (actor, id);
CREATE INDEX comments_by_kind ON comments (project_id, kind, id);
CREATE INDEX inbox ON comments (project_id, priority, id) WHERE priority IS NOT NULL AND acked_at IS NULL;
CREATE TRIGGER comment_about AFTER INSERT ON comments
BEGIN
    UPDATE comments SET (about_kind, about_id) = (
        SELECT NEW.target_kind, NEW.target_id WHERE NEW.target_kind <> 'comment'
        UNION ALL SELECT c.about_kind, c.about_id FROM comments c WHERE NEW.target_kind = 'comment' AND c.id = NEW.target_id
    ) WHERE id = NEW.id;
END;

-- Full-text search. The tables hold only the index; the words stay where they are.
CREATE VIRTUAL TABLE ideas_fts USING fts5 (
    title, hypothesis, plan, content = 'ideas', content_rowid = 'id', tokenize = 'porter unicode61'
);
CREATE TRIGGER idea_indexed AFTER INSERT ON ideas
BEGIN
    INSERT INTO ideas_fts (rowid, title, hypothesis, plan) VALUES (NEW.id, NEW.title, NEW.hypothesis, NEW.plan);
END;
CREATE TRIGGER idea_reindexed AFTER UPDATE OF title, hypothesis, plan ON ideas
BEGIN
    INSERT INTO ideas_fts (ideas_fts, rowid, title, hypothesis, plan)
    VALUES ('delete', OLD.id, OLD.title, OLD.hypothesis, OLD.plan);
    INSERT INTO ideas_fts (rowid, title, hypothesis, plan) VALUES (NEW.id, NEW.title, NEW.hypothesis, NEW.plan);
END;
CREATE TRIGGER idea_unindexed AFTER DELETE ON ideas
BEGIN
    INSERT INTO ideas_fts (ideas_fts, rowid, title, hypothesis, plan)
    VALUES ('delete', OLD.id, OLD.title, OLD.hypothesis, OLD.plan);
END;
CREATE VIRTUAL TABLE comments_fts USING fts5 (
    body, content = 'comments', content_rowid = 'id', tokenize = 'porter unicode61'
);
CREATE TRIGGER comment_indexed AFTER INSERT ON comments
BEGIN
    INSERT INTO comments_fts (rowid, body) VALUES (NEW.id, NEW.body);
END;
CREATE TRIGGER comment_reindexed AFTER UPDATE OF body ON comments
BEGIN
    INSERT INTO comments_fts (comments_fts, rowid, body) VALUES ('delete', OLD.id, OLD.body);
    INSERT INTO comments_fts (rowid, body) VALUES (NEW.id, NEW.body);
END;
CREATE TRIGGER comment_unindexed AFTER DELETE ON comments
BEGIN
    INSERT INTO comments_fts (comments_fts, rowid, body) VALUES ('delete', OLD.id, OLD.body);
END;

CREATE TABLE messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    agent_id INTEGER NOT NULL REFERENCES agents (id),
    kind TEXT NOT NULL CHECK (kind IN ('brief', 'comment', 'prompt', 'warning', 'wrap_up')),
    comment_id INTEGER REFERENCES comments (id),
    body TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'queued'
        CHECK (state IN ('queued', 'typed', 'received', 'unconfirmed', 'failed')),
    detail TEXT,                                              -- why it waits, or why it failed
    queued_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    typed_at TEXT,
    received_at TEXT,
    actor TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX a_comment_once ON messages (agent_id, comment_id) WHERE comment_id IS NOT NULL;
CREATE UNIQUE INDEX one_brief ON messages (agent_id) WHERE kind = 'brief';
CREATE INDEX open_messages ON messages (agent_id, id) WHERE state IN ('queued', 'typed');

-- What agents asked for through their mailbox, with the answer: a request answered once is never carried out again.
CREATE TABLE requests (
    id TEXT PRIMARY KEY,
    agent_id INTEGER NOT NULL REFERENCES agents (id),
    answer TEXT NOT NULL CHECK (json_valid(answer)),
    at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
) STRICT;

-- What lets a program act as the orchestrator: the newest that is not revoked.
CREATE TABLE tokens (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    hash TEXT NOT NULL UNIQUE,                                -- SHA-256; the token itself is shown once
    made_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    revoked_at TEXT,
    actor TEXT NOT NULL
) STRICT;

CREATE TABLE plugin_cursors (
    plugin TEXT PRIMARY KEY,
    event_id INTEGER NOT NULL,                                -- the last event the plugin has taken
    failures INTEGER NOT NULL DEFAULT 0,                      -- in a row
    retry_at REAL,                                            -- seconds since the epoch
    error TEXT
) STRICT;

-- The event log ---------------------------------------------------------------------------------------------

CREATE TABLE events (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    kind TEXT NOT NULL,                                       -- subject.what
    actor TEXT NOT NULL,
    project_id INTEGER,
    target_kind TEXT,
    target_id INTEGER,
    payload TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(payload))
) STRICT;
CREATE INDEX events_by_target ON events (target_kind, target_id, id);

CREATE TRIGGER events_no_update BEFORE UPDATE ON events
BEGIN SELECT RAISE(ABORT, 'the event log is append-only'); END;
CREATE TRIGGER events_no_delete BEFORE DELETE ON events
BEGIN SELECT RAISE(ABORT, 'the event log is append-only'); END;
CREATE TRIGGER events_no_replace BEFORE INSERT ON events
WHEN NEW.id > 0 AND EXISTS (SELECT 1 FROM events WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'the event log is append-only'); END;
-- An id that is not given reads as -1 before the insert, so a row of that id would stand in the way of all others.
CREATE TRIGGER events_count_up AFTER INSERT ON events WHEN NEW.id < 1
BEGIN SELECT RAISE(ABORT, 'the event log counts up from 1'); END;

-- Why somebody makes the changes of the transaction that is open; the triggers put it into their events.
CREATE TABLE why (reason TEXT) STRICT;
INSERT INTO why VALUES (NULL);

-- What has no row of its own to change (a plugin failed, the daemon started) is told through this view.
CREATE VIEW emit AS SELECT kind, actor, project_id, target_kind, target_id, payload FROM events;
CREATE TRIGGER emit_insert INSTEAD OF INSERT ON emit
BEGIN
    INSERT INTO events (kind, actor, project_id, target_kind, target_id, payload)
    VALUES (NEW.kind, NEW.actor, NEW.project_id, NEW.target_kind, NEW.target_id, coalesce(NEW.payload, '{}'));
END;

CREATE TRIGGER project_registered AFTER INSERT ON projects
BEGIN
    INSERT INTO events (kind, actor, project_id, target_kind, target_id, payload)
    VALUES ('project.registered', NEW.actor, NEW.id, 'project', NEW.id, json_object('name', NEW.name, 'path', NEW.path));
END;
CREATE TRIGGER project_state AFTER UPDATE OF state ON projects WHEN OLD.state <> NEW.state
BEGIN
    INSERT INTO events (kind, actor, project_id, target_kind, target_id, payload)
    VALUES ('project.' || NEW.state, NEW.actor, NEW.id, 'project', NEW.id, json_object('reason', NEW.state_reason));
END;
CREATE TRIGGER project_held AFTER UPDATE OF held_since ON projects WHEN OLD.held_since IS NOT NEW.held_since
BEGIN
    INSERT INTO events (kind, actor, project_id, target_kind, target_id, payload)
    VALUES (iif(NEW.held_since IS NULL, 'launching.resumed', 'launching.held'), NEW.actor, NEW.id, 'project', NEW.id,
            json_object('since', coalesce(NEW.held_since, OLD.held_since)));
END;
CREATE TRIGGER project_config AFTER UPDATE OF config, config_error ON projects
WHEN OLD.config <> NEW.config OR OLD.config_error IS NOT NEW.config_error
BEGIN
    INSERT INTO events (kind, actor, project_id, target_kind, target_id, payload)
    VALUES ('project.config', NEW.actor, NEW.id, 'project', NEW.id, json_object('error', NEW.config_error));
END;
CREATE TRIGGER project_evaluator AFTER UPDATE OF evaluator_id ON projects WHEN OLD.evaluator_id IS NOT NEW.evaluator_id
BEGIN
    INSERT INTO events (kind, actor, project_id, target_kind, target_id, payload)
    VALUES ('project.evaluator', NEW.actor, NEW.id, 'project', NEW.id,
            json_object('old', OLD.evaluator_id, 'new', NEW.evaluator_id));
END;
CREATE TRIGGER head_moved AFTER UPDATE OF head_id ON projects WHEN OLD.head_id IS NOT NEW.head_id
BEGIN
    INSERT INTO events (kind, actor, project_id, target_kind, target_id, payload)
    VALUES ('head.moved', NEW.actor, NEW.id, 'candidate', NEW.head_id, json_object('old', OLD.head_id));
END;

CREATE TRIGGER idea_added AFTER INSERT ON ideas
BEGIN
    INSERT INTO events (kind, actor, project_id, target_kind, target_id, payload)
    VALUES ('idea.added', NEW.actor, NEW.project_id, 'idea', NEW.id,
            json_object('title', NEW.title, 'status', NEW.status, 'priority', NEW.priority));
END;
CREATE TRIGGER idea_status AFTER UPDATE OF status ON ideas WHEN OLD.status <> NEW.status
BEGIN
    INSERT INTO events (kind, actor, project_id, target_kind, target_id, payload)
    VALUES ('idea.status', NEW.actor, NEW.project_id, 'idea', NEW.id,
            json_object('old', OLD.status, 'new', NEW.status, 'reason', (SELECT reason FROM why)));
END;
-- Long texts are told by name only; json_patch leaves out what did not change.
CREATE TRIGGER idea_edited
AFTER UPDATE OF title, hypothesis, plan, priority, harness, model, base_id, family, provenance, attempts ON ideas
WHEN (OLD.title, OLD.hypothesis, OLD.plan, OLD.priority, OLD.harness, OLD.model, OLD.base_id, OLD.family, OLD.provenance,
      OLD.attempts)
  IS NOT (NEW.title, NEW.hypothesis, NEW.plan, NEW.priority, NEW.harness, NEW.model, NEW.base_id, NEW.family,
      NEW.provenance, NEW.attempts)
BEGIN
    INSERT INTO events (kind, actor, project_id, target_kind, target_id, payload)
    VALUES ('idea.edited', NEW.actor, NEW.project_id, 'idea', NEW.id, json_patch('{}', json_object(
        'priority', iif(OLD.priority IS NOT NEW.priority, json_array(OLD.priority, NEW.priority), NULL),
        'title', iif(OLD.title IS NOT NEW.title, json_array(OLD.title, NEW.title), NULL),
        'harness', iif(OLD.harness IS NOT NEW.harness, json_array(OLD.harness, NEW.harness), NULL),
        'model', iif(OLD.model IS NOT NEW.model, json_array(OLD.model, NEW.model), NULL),
        'base', iif(OLD.base_id IS NOT NEW.base_id, json_array(OLD.base_id, NEW.base_id), NULL),
        'family', iif(OLD.family IS NOT NEW.family, json_array(OLD.family, NEW.family), NULL),
        'attempts', iif(OLD.attempts IS NOT NEW.attempts, json_array(OLD.attempts, NEW.attempts), NULL),
        'texts', iif((OLD.hypothesis, OLD.plan, OLD.provenance) IS NOT (NEW.hypothesis, NEW.plan, NEW.provenance), 1, NULL),
        'reason', (SELECT reason FROM why))));
END;
CREATE TRIGGER idea_linked AFTER INSERT ON idea_links
BEGIN
    INSERT INTO events (kind, actor, project_id, target_kind, target_id, payload)
    SELECT 'idea.linked', NEW.actor, i.project_id, 'idea', NEW.idea_id,
           json_object('kind', NEW.kind, 'to', NEW.target_id, 'reason', (SELECT reason FROM why))
    FROM ideas i WHERE i.id = NEW.idea_id;
END;

CREATE TRIGGER run_queued AFTER INSERT ON runs
BEGIN
    INSERT INTO events (kind, actor, project_id, target_kind, target_id, payload)
    VALUES ('run.queued', NEW.actor, NEW.project_id, 'run', NEW.id,
            json_object('idea', NEW.idea_id, 'number', NEW.number, 'harness', NEW.harness, 'base', NEW.base_id));
END;
CREATE TRIGGER run_state AFTER UPDATE OF state ON runs WHEN OLD.state <> NEW.state
BEGIN
    INSERT INTO events (kind, actor, project_id, target_kind, target_id, payload)
    VALUES ('run.' || NEW.state, NEW.actor, NEW.project_id, 'run', NEW.id,
            json_object('old', OLD.state, 'end', NEW.end_cause, 'detail', NEW.end_detail, 'counts', NEW.counts));
END;
CREATE TRIGGER run_settled AFTER UPDATE OF settled_at ON runs WHEN OLD.settled_at IS NULL AND NEW.settled_at IS NOT NULL
BEGIN
    INSERT INTO events (kind, actor, project_id, target_kind, target_id, payload)
    VALUES ('run.settled', NEW.actor, NEW.project_id, 'run', NEW.id, json_object('end', NEW.end_cause));
END;

CREATE TRIGGER sweep_queued AFTER INSERT ON sweeps
BEGIN
    INSERT INTO events (kind, actor, project_id, target_kind, target_id, payload)
    VALUES ('sweep.queued', NEW.actor, NEW.project_id, 'sweep', NEW.id,
            json_object('role', NEW.role, 'trigger', NEW.trigger, 'harness', NEW.harness));
END;
CREATE TRIGGER sweep_state AFTER UPDATE OF state ON sweeps WHEN OLD.state <> NEW.state
BEGIN
    INSERT INTO events (kind, actor, project_id, target_kind, target_id, payload)
    VALUES ('sweep.' || NEW.state, NEW.actor, NEW.project_id, 'sweep', NEW.id,
            json_object('role', NEW.role, 'trigger', NEW.trigger, 'old', OLD.state, 'detail', NEW.end_detail));
END;
CREATE TRIGGER anomaly_found AFTER INSERT ON anomalies
BEGIN
    INSERT INTO events (kind, actor, project_id, target_kind, target_id, payload)
    VALUES ('anomaly.' || NEW.kind, NEW.actor, NEW.project_id, NEW.target_kind, NEW.target_id,
            json_object('detail', NEW.detail, 'incident', NEW.incident));
END;

CREATE TRIGGER agent_launched AFTER INSERT ON agents
BEGIN
    INSERT INTO events (kind, actor, project_id, target_kind, target_id, payload)
    VALUES ('agent.launched', NEW.actor, NEW.project_id, 'agent', NEW.id,
            json_object('run', NEW.run_id, 'sweep', NEW.sweep_id, 'harness', NEW.harness, 'role', NEW.role));
END;
CREATE TRIGGER agent_started AFTER UPDATE OF started_at ON agents WHEN OLD.started_at IS NULL AND NEW.started_at IS NOT NULL
BEGIN
    INSERT INTO events (kind, actor, project_id, target_kind, target_id, payload)
    VALUES ('agent.started', NEW.actor, NEW.project_id, 'agent', NEW.id, json_object('run', NEW.run_id, 'pid', NEW.pid));
END;
CREATE TRIGGER agent_state AFTER UPDATE OF state, cause ON agents
WHEN OLD.state <> NEW.state OR OLD.cause IS NOT NEW.cause
BEGIN
    INSERT INTO events (kind, actor, project_id, target_kind, target_id, payload)
    VALUES (iif(NEW.state = 'ended' AND OLD.state <> 'ended', 'agent.ended', 'agent.state'),
            NEW.actor, NEW.project_id, 'agent', NEW.id,
            json_object('old', OLD.state, 'new', NEW.state, 'cause', NEW.cause, 'detail', NEW.cause_detail,
                        'failed_start', NEW.failed_start));
END;

CREATE TRIGGER candidate_added AFTER INSERT ON candidates
BEGIN
    INSERT INTO events (kind, actor, project_id, target_kind, target_id, payload)
    VALUES ('candidate.' || iif(NEW.origin = 'skipped', 'skipped', 'added'), NEW.actor, NEW.project_id, 'candidate', NEW.id,
            json_object('run', NEW.run_id, 'commit', NEW.commit_sha, 'origin', NEW.origin));
END;
CREATE TRIGGER candidate_judged AFTER UPDATE OF verdict ON candidates WHEN OLD.verdict IS NOT NEW.verdict
BEGIN
    INSERT INTO events (kind, actor, project_id, target_kind, target_id, payload)
    VALUES ('candidate.judged', coalesce(NEW.judged_by, NEW.actor), NEW.project_id, 'candidate', NEW.id,
            json_object('run', NEW.run_id, 'old', OLD.verdict, 'new', NEW.verdict, 'rule', NEW.rule, 'reason', NEW.reason,
                        'cause', NEW.cause));
END;

CREATE TRIGGER measurement_state AFTER UPDATE OF state ON measurements WHEN OLD.state <> NEW.state
BEGIN
    INSERT INTO events (kind, actor, project_id, target_kind, target_id, payload)
    SELECT 'measurement.' || NEW.state, NEW.actor, c.project_id, 'candidate', NEW.candidate_id,
           json_object('measurement', NEW.id, 'error', NEW.error, 'metrics', json(NEW.metrics))
    FROM candidates c WHERE c.id = NEW.candidate_id;
END;

CREATE TRIGGER comment_added AFTER INSERT ON comments
BEGIN
    INSERT INTO events (kind, actor, project_id, target_kind, target_id, payload)
    VALUES ('comment.' || NEW.kind, NEW.actor, NEW.project_id, 'comment', NEW.id,
            json_object('on', NEW.target_kind || '#' || NEW.target_id, 'priority', NEW.priority));
END;
CREATE TRIGGER comment_acked AFTER UPDATE OF acked_at ON comments WHEN OLD.acked_at IS NOT NEW.acked_at
BEGIN
    INSERT INTO events (kind, actor, project_id, target_kind, target_id, payload)
    VALUES ('comment.acked', coalesce(NEW.acked_by, NEW.actor), NEW.project_id, 'comment', NEW.id, '{}');
END;

CREATE TRIGGER message_queued AFTER INSERT ON messages
BEGIN
    INSERT INTO events (kind, actor, project_id, target_kind, target_id, payload)
    SELECT 'message.queued', NEW.actor, a.project_id, 'agent', NEW.agent_id,
           json_object('message', NEW.id, 'kind', NEW.kind, 'comment', NEW.comment_id)
    FROM agents a WHERE a.id = NEW.agent_id;
END;
CREATE TRIGGER message_state AFTER UPDATE OF state ON messages WHEN OLD.state <> NEW.state
BEGIN
    INSERT INTO events (kind, actor, project_id, target_kind, target_id, payload)
    SELECT 'message.' || NEW.state, NEW.actor, a.project_id, 'agent', NEW.agent_id,
           json_object('message', NEW.id, 'kind', NEW.kind, 'comment', NEW.comment_id, 'detail', NEW.detail)
    FROM agents a WHERE a.id = NEW.agent_id;
END;
