-- Two vocabularies get the CHECK that all others have: why an agent is in trouble, and which rule gave a verdict. A third,
-- how a run ended, gets two more words.
-- SQLite adds a CHECK only with a new table, which takes over the rows and the name of the old one.

CREATE TABLE new_agents (
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
    cause TEXT CHECK (cause IN ('not_found', 'exited', 'auth', 'quota', 'rate_limited', 'overloaded', 'unreachable',
        'model', 'context', 'permission', 'trust', 'onboarding', 'api_key', 'hooks', 'update', 'draft', 'config',
        'crashed', 'unknown', 'folder', 'name_taken', 'killed')),
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
-- What somebody wrote by hand and no herdr knows. The trigger goes first: the past is not told again as an event.
DROP TRIGGER agent_state;
UPDATE agents SET cause = 'unknown' WHERE cause NOT IN (
    'not_found', 'exited', 'auth', 'quota', 'rate_limited', 'overloaded', 'unreachable', 'model', 'context', 'permission',
    'trust', 'onboarding', 'api_key', 'hooks', 'update', 'draft', 'config', 'crashed', 'unknown', 'folder', 'name_taken',
    'killed'
);
INSERT INTO new_agents SELECT * FROM agents;
DROP TABLE agents;
ALTER TABLE new_agents RENAME TO agents;
CREATE UNIQUE INDEX one_live_agent ON agents (run_id) WHERE state <> 'ended';
CREATE UNIQUE INDEX one_live_sweeper ON agents (sweep_id) WHERE state <> 'ended';
CREATE INDEX agents_by_run ON agents (run_id);
CREATE INDEX agents_by_sweep ON agents (sweep_id) WHERE sweep_id IS NOT NULL;
CREATE INDEX live_agents ON agents (project_id) WHERE state <> 'ended';
CREATE INDEX agent_tokens ON agents (project_id, tokens_in, tokens_out, tokens_cached);
CREATE INDEX failed_starts ON agents (project_id, ended_at) WHERE failed_start = 1;
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

CREATE TABLE new_candidates (
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
    rule TEXT CHECK (rule IN ('error', 'missing', 'not_finite', 'protected', 'floor', 'no_bar', 'no_change', 'no_gain',
        'margin', 'gain', 'baseline', 'override')),  -- which rule decided
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
UPDATE candidates SET rule = NULL WHERE rule NOT IN (
    'error', 'missing', 'not_finite', 'protected', 'floor', 'no_bar', 'no_change', 'no_gain', 'margin', 'gain', 'baseline',
    'override'
);
INSERT INTO new_candidates SELECT * FROM candidates;
DROP TABLE candidates;
ALTER TABLE new_candidates RENAME TO candidates;
CREATE INDEX candidates_by_run ON candidates (run_id);
CREATE INDEX candidates_by_project ON candidates (project_id, id);
CREATE INDEX candidates_by_verdict ON candidates (project_id, verdict, run_id);
CREATE INDEX candidates_to_judge ON candidates (project_id) WHERE judge_again = 1;
CREATE INDEX trunk ON candidates (project_id, id) WHERE verdict = 'keep' AND on_trunk = 1;
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

CREATE TABLE new_runs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    project_id INTEGER NOT NULL REFERENCES projects (id),
    idea_id INTEGER NOT NULL REFERENCES ideas (id),
    number INTEGER NOT NULL,                                  -- 1 for the idea's first run
    state TEXT NOT NULL DEFAULT 'queued'
        CHECK (state IN ('queued', 'running', 'succeeded', 'failed', 'timed_out', 'cancelled')),
    end_cause TEXT CHECK (end_cause IN ('finished', 'finding_only', 'no_commits', 'recovered_only', 'start_failed',
        'timed_out', 'cancelled', 'process_error', 'blocked', 'refused', 'stopped', 'folder_lost', 'ending_failed')),
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
INSERT INTO new_runs SELECT * FROM runs;
DROP TABLE runs;
ALTER TABLE new_runs RENAME TO runs;
CREATE UNIQUE INDEX one_open_run ON runs (idea_id) WHERE state IN ('queued', 'running');
CREATE INDEX unsettled_runs ON runs (project_id) WHERE settled_at IS NULL;
CREATE INDEX runs_by_project ON runs (project_id, id);
CREATE INDEX runs_by_state ON runs (project_id, state);
CREATE INDEX counted_runs ON runs (project_id, settled_at) WHERE counts = 1;
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
