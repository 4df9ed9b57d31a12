/**
 * Every limit of the service with its unit and where it comes from: a test refuses a bound elsewhere. Settings that
 * differ between stages are in infra/stages.ts; sizes of formats, and AWS quotas that only the local runner imitates,
 * are where they apply. "spec" is the published specification of the API; AWS quotas are from the service's public
 * quota pages.
 */
export const limits = {
  body: {
    /** Largest request body in bytes. */
    max_bytes: 256 * 1024,
    /**
     * Largest body in bytes of a request to an OAuth endpoint, which is read before the client is known: two tokens of
     * `token.max_bytes` and credentials are below 16 KiB.
     */
    max_oauth_bytes: 64 * 1024,
    /** Deepest nesting of a JSON body. */
    max_depth: 32,
    /**
     * Faults that one answer lists: a body of a hundred thousand wrong entries must not make an answer of megabytes.
     */
    max_errors: 100,
  },
  token: {
    /** Lifetime of an access token (spec 5). */
    access_lifetime_seconds: 3600,
    /** Clock difference between two machines that is forgiven when `exp` is checked (RFC 8725). */
    clock_skew_seconds: 5,
    /** Longest token that is looked at. */
    max_bytes: 4096,
    /** How long a public key is used without a look whether it is still published. */
    known_key_seconds: 300,
    /** How long the key set is shown without a read: it is open to everybody and must not load the table. */
    key_set_seconds: 60,
    /** How long a key that was not found is remembered as unknown. */
    unknown_key_seconds: 30,
    /** Unknown keys that are remembered; forged ones must not fill the memory. */
    unknown_keys: 1000,
    /** How long a function signs with a key without asking whether there is another. */
    signing_key_seconds: 60,
    /** How long a function uses the service key without reading it again. */
    service_key_seconds: 300,
    /** Days between two signing keys. */
    key_rotation_days: 90,
    /** A new key is published this long before it signs, so that every cache has seen it. */
    key_publication_lead_seconds: 600,
    /** Failed client authentications per minute and address, and so per client and address too (RFC 6749 2.3.1). */
    failures_per_minute: 10,
  },
  refresh: {
    /** Lifetime of a refresh token; each refresh begins a new one (spec 5). */
    token_seconds: 30 * 24 * 3600,
    /** However often it is refreshed, a family of tokens ends after this time and asks for the secret alone. */
    family_seconds: 365 * 24 * 3600,
    /** A refresh token that was just used gives the same successor again, for a lost answer (RFC 9700 4.14.2). */
    grace_seconds: 30,
  },
  /** The user pool that operators sign in to. */
  pool: {
    /** Least length of a password, and how many former ones cannot be taken again. */
    password_length: 14,
    password_history: 5,
    /** How long an invitation can be accepted. */
    temporary_password_days: 7,
    /** Longest name of a user (AWS docs, AdminCreateUser). */
    max_email_characters: 128,
    /** Time between the password and the last factor of a sign-in (AWS docs: 3 to 15 minutes). */
    sign_in_minutes: 3,
    /** An id token is exchanged at once, and is refused when it is as old (AWS docs: no less than 5 minutes). */
    id_token_minutes: 5,
    access_token_minutes: 5,
    /** A working day; a rotated refresh token ends when the first one would have. */
    refresh_token_hours: 12,
  },
  applications: {
    /** Applications of a tenant that are not revoked; API Gateway holds 10,000 API keys per account and region. */
    max_active: 100,
    max_allowed_ips: 50,
    /** Sources of one; the authorizer hands them to each function, in a context of a few KiB. */
    max_source_ids: 20,
    /** How long a rotated secret works on in addition to the new one, unless the request says otherwise. */
    default_grace_seconds: 24 * 3600,
    max_grace_seconds: 7 * 24 * 3600,
    /** `last_used_at` is written at most once in this time, however often an application asks for tokens. */
    last_used_seconds: 300,
    /** Clocks of two machines differ by less: what is to wake by then is due. */
    clock_skew_seconds: 5,
    /** A key that was being made while its application was revoked is there after this time, and looked for again. */
    key_settled_seconds: 60,
  },
  operators: {
    /** Operators of a brokerage. */
    max_operators: 500,
    /** Former identifiers that an operator keeps: the authorizer passes them on, within 8 KB (AWS docs). */
    max_former_ids: 50,
    /** Undecided transactions that are looked at for what a person who leaves has made or approved. */
    handover_transactions: 500,
    /** The newest proposals of links and of drifts that are looked at for it, and the newest feed sources. */
    handover_proposals: 100,
    /** Emails to an operator, and to all of a brokerage, in a day (UTC): invitations and resets of credentials. */
    mails_per_day: 3,
    brokerage_mails_per_day: 100,
  },
  approvals: {
    /** Rules of a brokerage, and approvals that one of them may ask for. */
    max_rules: 20,
    max_approvers: 5,
    /** A proposal of one owner lapses unless another one agrees within 72 hours. */
    proposal_seconds: 72 * 3600,
  },
  exchange: {
    /** An id token of the user pool is exchanged within this time after it was issued. */
    max_token_age_seconds: 300,
    /** Lifetime of the access token of an operator. */
    access_lifetime_seconds: 900,
    /** A used token is remembered for this long after it is too old. */
    used_token_kept_seconds: 600,
    max_token_bytes: 8192,
    /** An ended sign-in is remembered until its last token has ended: twelve hours at the pool, and more. */
    ended_session_kept_seconds: 13 * 3600,
    max_ended_sessions: 50,
    /** Of the hash of an identity, in the name of a sign-in: 128 bits. */
    session_identity_characters: 32,
    /** Longest `sub`, `jti` and `kid`; OpenID Connect Core 2 allows a `sub` of 255 characters. */
    max_claim_characters: 255,
    /** How long a key of the pool is used without reading the key set again. */
    keys_kept_seconds: 3600,
    /** An unknown key has the set read at most once in this time. */
    unknown_key_seconds: 60,
    /** Time for an answer with the key set, its size, and its keys that are looked at. */
    answer_ms: 1500,
    max_key_set_bytes: 64 * 1024,
    max_keys: 20,
  },
  authorizer: {
    /** How long API Gateway keeps an authorizer's answer; a revoked application is out within this time. */
    cache_seconds: 60,
  },
  /** Share of the requests of which a trace is recorded: a million traces cost 5 USD. */
  traces: { share: 0.05 },
  rate: {
    /** Requests per application in one clock minute (spec 8). */
    per_minute: 1000,
    /** Requests per application in one clock second (spec 8). */
    burst_per_second: 50,
    /** Requests per operator in one clock second, of all kinds together. */
    operator_per_second: 60,
    /** Quote requests per application in one clock second, counted apart (spec 8). */
    quotes_per_second: 100,
    /** Batches, and calls with prices, per application in one clock second, each counted apart. */
    feed_per_second: 50,
    /** Requests that the gateway lets through of one caller, all together: a wall in front, which is not exact. */
    gateway_per_second: 150,
    gateway_burst: 300,
    /** How long the counter may take to answer: a request passes without it (ADR 0007). */
    counter_answer_ms: 1000,
    /** The counter item outlives its minute by this much before DynamoDB may delete it. */
    counter_kept_seconds: 3600,
  },
  page: {
    min_items: 1,
    max_items: 100,
    default_items: 25,
    max_reads: 3,
    entries_per_read: 250,
    max_filter_words: 20,
    /**
     * Bytes of a page as Lambda counts an answer, whose body is a text inside JSON and so escaped once more. Lambda
     * takes 6 MB (AWS docs: Lambda quotas, synchronous response); the rest is headers, links and slack.
     */
    max_bytes: 4 * 1024 * 1024,
    /** Partitions of accounts that one page asks for positions concurrently. */
    queries_at_once: 25,
  },
  /** `GET /clients?search=`. Characters are code points of the folded text. */
  search: {
    min_characters: 2,
    max_characters: 64,
    /** UTF-16 units before folding, which drops signs and spaces. */
    max_raw_characters: 256,
    /** Digits from which on a text is the beginning of the number of an account. */
    min_number_digits: 3,
    max_items: 25,
  },
  idempotency: {
    /** How long a stored answer is given again. */
    kept_seconds: 24 * 3600,
    max_key_characters: 255,
  },
  metadata: {
    max_keys: 50,
    max_key_characters: 40,
    max_value_characters: 500,
    /** Keys and values together, in bytes of UTF-8: one commit may tell the whole resource several times. */
    max_bytes: 16 * 1024,
  },
  money: {
    /** Clocks of two machines that book may differ by this much; Lambda keeps them within milliseconds. */
    clock_skew_seconds: 60,
    /** Digits before the decimal point that a request may carry. */
    max_integer_digits: 15,
    /** Digits after it, far more than any currency has; its own are checked where the currency is known. */
    max_fraction_digits: 20,
    /** Currencies that a brokerage offers: all there are, with room for more. */
    max_currencies: 250,
    /** No stored amount is larger than this many minor units. */
    max_minor: 10n ** 18n,
    /**
     * The balance of an account with open positions is raised by deposits, transfers and adjustments of the API up to
     * this many minor units, and nothing is opened above it: the other half of the bound is for what its positions can
     * still gain.
     */
    max_traded_minor: 5n * 10n ** 17n,
    /** Lots of credit of an account: they are part of the item of its money, which every posting writes. */
    max_credit_lots: 10,
  },
  sums: {
    /** Days of one report. */
    max_days: 92,
    /** Rows of one report, about 250 bytes each: two thirds of what Lambda answers. */
    max_rows: 15_000,
    /** Events that one read takes: about 200 KB. */
    events_per_read: 500,
    /** Days in one currency that one transaction of at most 100 items adds to, with the cursor. */
    items_per_transaction: 90,
    /** Cells that one update adds to: three attributes of up to 65 bytes each in an expression of at most 4 KB. */
    cells_per_item: 15,
    /** Brokerages whose events are summed at the same time. */
    tenants_at_once: 4,
    /** Time that the last transaction of a run may take. */
    reserve_ms: 10_000,
    /** How often sums are read while runs write them. */
    read_attempts: 10,
  },
  usage: {
    /** Unit of one reading of the log, which is replaced as a whole. */
    hour_ms: 3_600_000,
    /** An hour is read for the last time so long after its end: Lambda sends a line within seconds. */
    settled_after_ms: 3_600_000,
    /**
     * A connection whose end was noted and not logged is found within this time: a sign of life is sent to it every
     * five minutes, by the sweep of a minute.
     */
    repaired_within_ms: 600_000,
    /** Thirteen months: a month is compared with that of a year before. */
    kept_seconds: 400 * 24 * 3600,
    /** Items of callers that are written at the same time. */
    callers_at_once: 8,
    /** Brokerages whose events are counted at the same time. */
    tenants_at_once: 4,
    /** Events that one read takes: about 200 KB. */
    events_per_read: 500,
    /** Days and actors that one transaction of at most 100 items adds to, with the cursor. */
    days_per_transaction: 90,
    /** Time that the last page of a log, or the last transaction, may take. */
    reserve_ms: 20_000,
    /** Days of one report. */
    max_days: 31,
    /** Rows of one report, about 300 bytes each: a quarter of what Lambda answers. */
    max_rows: 5000,
  },
  transfers: {
    /** A firm quote is void after this time: prices move, and it is a free option as long as it stands. */
    quote_seconds: 30,
    /**
     * A transfer at a firm quote that is not made in one commit begins its debit within this time after it was asked
     * for: what a function has to go on with it. Later its rate would be a free option.
     */
    quoted_debit_seconds: 30,
    /** A firm quote is at most for an amount that is worth so many USD, sold at the prices of a client. */
    max_quote_usd: 10_000n,
    /** The mark-up of a firm quote is at least this, in hundredths of a percent. */
    least_quote_mark_up: 10,
  },
  client: {
    /** Youngest client in years. */
    min_age_years: 18,
    /** Accounts per client: client lists merge over them, so they are bounded. */
    max_accounts: 50,
  },
  verification: {
    /** Reasons of one rejection. */
    max_reasons: 10,
    /** Characters of a comment for the client. */
    max_comment: 500,
    /** Characters of a comment or a note that the client never sees. */
    max_internal_comment: 1000,
    /** Days in advance that a verification is to be renewed. */
    renewal_days: 30,
  },
  commit: {
    /** Keys of one BatchGetItem (DynamoDB). */
    keys_per_read: 100,
    /** Tries after `TransactionConflict`, each after a new read. */
    conflict_tries: 10,
    /** Tries of one update of a delivery or of an endpoint's health that meets transactions. */
    update_tries: 5,
    /** Full jitter between these two, doubling. */
    conflict_delay_min_ms: 50,
    conflict_delay_max_ms: 800,
    /** Times a decision is made again after its condition failed, each after a new read. */
    decision_tries: 10,
    /** Items that one transaction holds (DynamoDB). */
    max_items: 100,
    /** All of it ends this long before the function's own timeout. */
    reserve_ms: 1000,
    /** Seconds after which what met others every time may come again. */
    retry_after_seconds: 1,
  },
  events: {
    /** Events of one commit: with their outbox item and its parts they are one publishing transaction. */
    max_per_commit: 40,
    /** Bytes of events in one outbox item; an item of DynamoDB has 400 KiB, and the rest is its keys. */
    max_item_bytes: 384 * 1024,
    /**
     * Bytes of events that one publishing transaction takes out of outbox items and puts as events: twice as much and
     * their keys are below the 4 MB of a transaction (DynamoDB).
     */
    max_published_bytes: 1792 * 1024,
    /**
     * Outbox items that one message names: about 5 KB. Ten messages are a batch of the publisher, which has to end in
     * its time even where every commit has five events.
     */
    keys_per_message: 50,
    /** Overdue outbox items of one tenant that a sweep sends to the publisher: the messages of one batch. */
    swept_per_tenant: 1000,
    /**
     * How long the router waits after it has sent, so that the next batch of its shard fills: 80 messages a second from
     * so many shards, and longer in proportion for more.
     */
    router_pause_ms: 200,
    router_shards: 16,
    /** Deliveries of one publishing transaction whose messages the publisher sends itself; the others have a queue. */
    fan_out_in_place: 50,
    /** Events before the last number that a message received again looks at: those of two transactions. */
    fan_out_again: 200,
    /** Transactions of its own that an outbox item gets before it is parked. */
    publish_tries: 3,
    /** The count of these tries is kept for a week. */
    tries_kept_seconds: 7 * 24 * 3600,
    /** The publisher begins no transaction so long before its timeout, and its calls end before the last part of it. */
    publish_reserve_ms: 1500,
    publish_budget_reserve_ms: 300,
    /** Of that last part, the time for what takes a counted try back. */
    take_back_ms: 200,
    /** Parked commits that are released at the same time. */
    released_in_parallel: 4,
    /** Verifications that end and transactions that expire, many of them at midnight, moved at the same time. */
    expired_in_parallel: 16,
    /** Records of the stream that the router receives at once; after so many it does not pause: more are waiting. */
    routed_records: 100,
    kept_seconds: 90 * 24 * 3600,
    /** An outbox item that is still there after this time is found by the sweep. */
    unpublished_after_seconds: 60,
    /** Numbers of events whose partitions are named alike; a list looks at one after the other. */
    per_partition: 1_000_000,
    /** Numbers that are left out after a restore: a list looks at the partition of each million of them. */
    max_left_out: 100_000_000,
    /** Partitions that the numbers of each million events are spread over: 2,000 events of 2 units a second. */
    lanes: 4,
    /** A number that is missing before an event as fresh as this may not be seen yet; DynamoDB takes milliseconds. */
    unseen_seconds: 30,
    /**
     * Shards of a kind in the due index: DynamoDB writes 1,000 units a second to one of them, and an entry is put and
     * removed. A number may rise, never fall: what is in a shard that no sweep reads is lost.
     */
    due_shards: 8,
    /**
     * The same of the kinds that each commit, event or delivery has an entry of: 32,000 a second in production. The
     * sandbox has no use for that, and an empty shard costs each sweep a query.
     */
    busy_due_shards: { sandbox: 8, production: 64 },
    /** Shards of one kind that a sweep reads at the same time. */
    due_parallel: 16,
    /** Due items that one read of one shard takes. */
    due_page: 100,
    /** Between two sweeps: the rate of their schedules. */
    sweep_every_seconds: 60,
    /** A sweep begins nothing new so long before its function's timeout. */
    sweep_reserve_ms: 5000,
  },
  books: {
    /**
     * Partitions of a control account in one currency and one month, at most 32: DynamoDB writes 1,000 units a second
     * to one of them. A number may rise, never fall. Reports, reconciliation and a reset read all of them.
     */
    control_shards: { sandbox: 4, production: 32 },
    /** Differences of one run that are kept and shown; their number is exact. */
    kept_differences: 50,
    /** Runs that the report shows. */
    shown_runs: 10,
    kept_seconds: 365 * 24 * 3600,
    /** Accounts of one step, and how many are compared at the same time. */
    accounts_per_step: 500,
    parallel: 16,
    /** Parts of the accounts that are summed together: a sum that is off names a 64th of them to look at again. */
    net_parts: 64,
    /** Months whose control accounts each run reads; of the older ones it reads one. */
    newest_months: 2,
    /** Partitions of control accounts that are read at the same time. */
    partitions_parallel: 32,
    /** Numbers of events, and entries of the audit, that one step reads. */
    events_per_step: 20_000,
    audit_entries_per_step: 10_000,
    /** Gaps of one step that may be those of a restore, and events of a lane that are read after each. */
    looked_at_gaps: 20,
    events_after_gap: 50,
    /** An index of DynamoDB lags by fractions of a second: what it does not show after this time is not there. */
    settle_ms: 3000,
    /** How often what seems to differ is read before it is reported, and the time between two reads. */
    looks: 5,
    between_looks_ms: 200,
    /** Entries of one shard of the due index that are read: where more wait to be published, none is missed yet. */
    waiting_commits: 1000,
    /** Events of entries that are about to end are not looked for. */
    event_margin_seconds: 24 * 3600,
    /** Brokerages whose books are compared at the same time. */
    brokerages_parallel: 4,
    /** Days that one read of the latest ones brings. */
    days_per_read: 8,
    /** Begun days that a change of their rule stores; a nightly run stores each that it closes. */
    begun_days: 60,
    /** Time that one more step may take. */
    step_reserve_ms: 60_000,
  },
  statements: {
    /** Days of one statement: a year. */
    max_days: 366,
    /** Entries of one statement, about 300 bytes each: a quarter of what Lambda answers. */
    max_entries: 5000,
    /** Characters of each text of the letterhead. */
    max_characters: 200,
  },
  audit: {
    /** Entries that a check keeps after a broken link: what stands behind it tells what was done to the chain. */
    look_ahead_entries: 1000,
    /** Entries are shown for as long as events; the export keeps them for years. */
    kept_seconds: 90 * 24 * 3600,
    /** Bytes of the changes of one entry, as JSON: the entries of a whole transaction fit one item of 400 KiB. */
    max_changes_bytes: 6 * 1024,
    /** Bytes of entries, as lines of JSON, that an object of a sealed day holds: what is in memory of a day. */
    part_bytes: 8 * 1024 * 1024,
    /** A day is sealed so long after its end: its last commits are published by then. */
    sealed_after_seconds: 15 * 60,
    /** Brokerages whose days are sealed at the same time. */
    sealed_in_parallel: 4,
    /** Time that the writing of one more part, or of the end of a day, may take. */
    seal_reserve_ms: 20_000,
    /** Bytes of the personal values of one person in an entry, as JSON; sealed, they count as bytes of the changes. */
    max_personal_bytes: 2 * 1024,
    /** Entries that one request verifies: about 5 MB of pages. */
    verified_entries: 10_000,
    /** Characters of `User-Agent` that are kept. */
    user_agent_max_characters: 200,
    /** Refusals of one actor and action in a minute with an entry each; the others of that minute share one. */
    refusals_per_minute: 60,
    refusals_minute_ms: 60_000,
    /**
     * How long after its minute the entry is written: a message that failed comes again after three minutes, which its
     * queue hides it for, and is counted in the same entry. Later ones are counted again.
     */
    refusals_settle_seconds: 240,
    /** How long it is known which refusals were recorded: a message can come again for 14 days (SQS). */
    refusals_known_seconds: 16 * 24 * 3600,
    /** Time for the message about a refusal, which its answer waits for. */
    refusal_send_ms: 500,
    /**
     * Refusals that one invocation records, and how long Lambda waits for so many: a flood of one actor takes eleven
     * transactions a second. The tally and the marks of a batch fit one of 100 items.
     */
    refusals_per_batch: 90,
    refusals_window_seconds: 1,
    /**
     * Entries of refusals that one transaction commits, and the pause after each of them: a flood of many actors or
     * actions, each of which has room for entries, must not delay the events of its brokerage.
     */
    refusals_at_once: 10,
    refusal_pause_ms: 20,
    /** Groups of refusals that one invocation records at the same time. */
    refusals_in_parallel: 4,
  },
  webhooks: {
    /** A free connection is closed before most receivers would close it, and never used after a function was frozen. */
    free_connection_ms: 1000,
    /** A read of that age may be outdated: an endpoint that was switched off gets nothing more. */
    fresh_ms: 50,
    /** Clocks of two publishers may differ by this much. */
    publisher_skew_ms: 60_000,
    /** Endpoints of a tenant. */
    max_endpoints: 20,
    url_max_characters: 2048,
    /** Words of `event_types`, and entries of each filter of an endpoint. */
    max_event_types: 20,
    max_filter_entries: 50,
    /** Longest, and usual, time that the previous secret signs along after a rotation. */
    previous_secret_seconds: 24 * 3600,
    /** Events that one call of `replay` looks at. */
    replay_max_events: 1000,
    /** A replay leaves the rest to the sweep so long before its function's timeout. */
    replay_reserve_ms: 4000,
    /** Waiting times after a failed attempt (spec 6): a first try and five retries, at 0 to 95,760 s. */
    retry_delays_seconds: [60, 300, 1800, 7200, 86_400],
    /** A delay may be longer by this part of itself, never shorter. */
    jitter_max: 0.1,
    /** Longest `Retry-After` of a receiver that is honoured. */
    retry_after_max_seconds: 86_400,
    /** Bounds of one attempt. */
    connect_timeout_ms: 3000,
    attempt_timeout_ms: 10_000,
    /** How long a reply is read once its status is there: what decides is known, and the worker has others. */
    reply_ms: 200,
    /** Bytes of a reply that are read, and that are kept. */
    reply_max_bytes: 65_536,
    excerpt_max_bytes: 4096,
    /** Attempts of one endpoint at the same time, to begin with. */
    slots_per_endpoint: 4,
    /** So many answers in time, each while all of its slots were taken, give an endpoint one more (ADR 0031). */
    slot_grows_after: 10,
    /** Most slots of an endpoint: with more, each write of its health would cost a third unit. */
    slots_grown_max: 16,
    /** The endpoints of one brokerage grow together to this part of what the workers of their lane hold. */
    tenant_share: 0.25,
    /** An answer that takes as long keeps others waiting: it halves the slots, as a failure does, to the first four. */
    slow_answer_ms: 500,
    /** One that takes as long proves nothing: a batch ends with its slowest call, and the batch after it waits. */
    late_answer_ms: 3000,
    /** The same while it is unproven: without a success in so long, or with a failure since its last one. */
    slots_unproven: 1,
    proven_seconds: 24 * 3600,
    /** An unanswered attempt closes an unproven endpoint for this long at first, then for twice as long each time. */
    closed_min_seconds: 30,
    /** Longest closing, jitter included: also the longest delay of a probe, which the alarm of its queue allows. */
    closed_max_seconds: 300,
    /** A closing may be longer by this part of itself, so that endpoints that fell silent together are probed apart. */
    closed_jitter_max: 0.25,
    /** A delivery that was let in as the probe of its endpoint gives way to another when it has not come by then. */
    probe_seconds: 60,
    /** A message that meets the probe of its endpoint comes back after 1 s, 2 s, 4 s and so on to this. */
    unproven_return_max_seconds: 8,
    /**
     * Deliveries of a closed endpoint rest for a quarter of the time by which they are late, within these bounds, and
     * spread over so many seconds more. A success wakes them earlier, so looking more often would only cost writes.
     */
    rest_min_seconds: 300,
    rest_max_seconds: 3600,
    rest_spread_seconds: 30,
    /** Deliveries that a sweep wakes of an endpoint that is open again, a second: about what its slots take. */
    woken_per_second: 20,
    /** How long a worker waits for a slot before it gives the message back. */
    slot_wait_ms: 2000,
    /** In addition to the attempt itself a function needs this much of its time: to read, to claim and to record. */
    attempt_reserve_ms: 2000,
    /** A message that finds no slot comes back after this time, so many times; then the sweep sends it. */
    slot_return_seconds: 5,
    max_returns: 12,
    /** A worker that has not recorded its attempt by then is dead; longer than an attempt can take. */
    lease_ms: 20_000,
    /** The last dead claim of one attempt counts as its failure. */
    max_claims: 3,
    /** An endpoint that only failed for so long, so often and over such a span is switched off. */
    auto_disable_after_seconds: 5 * 24 * 3600,
    auto_disable_min_failures: 10,
    auto_disable_min_span_seconds: 86_400,
    delivery_kept_seconds: 30 * 24 * 3600,
    /** The sweep sends what is due within this time: the longest delay of SQS. */
    sweep_horizon_seconds: 900,
    /** An attempt whose message ought to have shown for so long is sent again by the sweep. */
    lost_after_seconds: 60,
    /** The sweep leaves a message that it sent again alone for so long, so that it does not feed a backlog. */
    sent_again_after_seconds: 900,
    /** Writes of one function to different deliveries at the same time. */
    parallel_writes: 32,
  },
  queues: {
    /** Messages of one SendMessageBatch (SQS). */
    batch_messages: 10,
    /** Batches on their way at the same time. */
    parallel_batches: 8,
    /** Tries for messages that SQS did not take, in addition to those of the SDK for a whole call. */
    tries: 4,
    /** Full jitter between these two, doubling. */
    retry_delay_min_ms: 50,
    retry_delay_max_ms: 800,
    /** Messages that one invocation works on concurrently. Ten is the most that a mapping takes without waiting. */
    messages_per_invocation: 10,
    /** A queue that a function reads hides a message for six timeouts of the function (AWS docs: Lambda with SQS). */
    visibility_timeouts: 6,
    /**
     * The queue of the publisher hides a message for this time instead, so that four deaths, after which a commit
     * is parked that kills its publisher each time, delay the commits of its brokerage by less than 30 s. The
     * timeout of the publisher is 5 s. One that begins later than 2 s after the receive may meet a second one; that
     * costs conflicts and no guarantee.
     */
    publishing_visibility_seconds: 7,
    /** So a message of the publisher is a dead letter after 140 s; one that a table is throttled for comes sooner. */
    publishing_max_receives: 20,
    /**
     * The queue of the stream hides a message for this time, a little longer than its worker may take, so that a set
     * of connections whose worker was killed receives again after it. A message only wakes: what a connection has not
     * received is in the table, and the sweep of each minute wakes every set.
     */
    stream_visibility_seconds: 12,
    /** With fewer than five receives a message may go away although only Lambda was too busy (AWS docs, same page). */
    max_receives: 5,
    /** How long a failure waits for a person in a dead-letter queue. */
    dead_letter_days: 14,
    /** How long a message is kept that only wakes: what it is about is in the table, where the sweep finds it. */
    wake_up_days: 1,
    /** How long a refusal waits to be recorded, of which its message is the only copy; less than a dead letter. */
    refusal_days: 4,
    /** A delivery that waits as long as this beyond its own delay is late. */
    late_delivery_seconds: 300,
    /** A commit is published within a second; the oldest of a killed publisher's batch after 7 s. */
    late_publishing_seconds: 60,
    /** A connection receives an event within a second; the set of a killed worker after the time above. */
    late_stream_seconds: 60,
    /** An account that a price has put below its level must not wait for long. */
    late_evaluation_seconds: 60,
    /** A refusal is recorded within seconds; a flood from many actors waits for its turn. */
    late_refusal_seconds: 900,
    /** Longest DelaySeconds (SQS). */
    max_delay_seconds: 900,
  },
  trading: {
    /** Of an account: 1:1000. The settings say what a retail client gets of it. */
    max_leverage: 1000,
    /** How far ahead the next opening is looked for; a longer pause is shown as no opening at all. */
    opening_horizon_days: 15,
    /** A quote of an open market that is older is shown as stale. */
    quote_stale_ms: 10_000,
    /** Nothing is decided on a quote of an open market that is older: a stale feed never causes a stop-out. */
    metrics_stale_ms: 60_000,
    /** Trades that one step of a liquidation closes: each takes up to ten of the 100 items of a transaction. */
    closes_per_step: 8,
    /**
     * A trigger that is placed gets at least an equal part divided by this. With 2 the last of 20 openings on an
     * account of little money writes almost twice as many triggers; with more than 4 triggers are met more often.
     */
    placed_trigger_divisor: 4n,
    /** Brokerages whose open positions are summed at the same time. */
    summed_at_once: 4,
    /** The schedule of that sum; before the first one a caller is to ask again after this time. */
    summed_every_seconds: 60,
    /** Symbols of a tenant, which some decisions read all at once. */
    max_symbols: 1000,
    /** Symbols whose quotes one call asks for. */
    max_quotes: 50,
    /** Open positions of one account. */
    max_positions: 500,
    /** Parts of a request for a margin preview, which is computed in one request. */
    preview_prices: 50,
    preview_closes: 50,
    preview_opens: 20,
    /** Symbols whose first prices a preview looks for: each takes about 80 valuations of the positions in it. */
    preview_first_prices: 20,
    /** No price is further from zero: bitcoin costs 10^9 to 10^10 in the weakest currencies. */
    max_price: 10n ** 10n,
    /** A price is at most so many times the first one of its day. */
    max_daily_factor: 100n,
    /** The same for a currency pair, which is also at least this part of the first one of its day. */
    max_daily_pair_factor: 20n,
    /** Points of a symbol other than a pair below which parts of a price say nothing: 1.00 with two digits. */
    near_zero_points: 100n,
    /** After so long without a price of a symbol the next one is measured from none: a wrong one must not stay. */
    reference_kept_ms: 3_600_000,
    /**
     * Largest worth of the open positions of one account, 500 or fewer, in minor units of its currency when one of them
     * is opened, at the first prices of the day: 10^11 USD, 10^13 JPY. The bound of a balance follows. A profit or a
     * loss is at most lots x contract size x price x rate; within the day the price is at most 100 times the first one,
     * and a rate is made of two pairs at most, each within 20 times: 10^13 x 100 x 20 x 20 = 4 x 10^17, which with a
     * balance of at most 5 x 10^17 stays below 10^18. A pair that is traded itself has 20 x 20 x 20.
     */
    max_worth_minor: 10n ** 13n,
    /**
     * Decimals of every price that is waited for, whatever the digits of its symbol, which may grow: the most that a
     * price on the wire has.
     */
    trigger_digits: 12,
    /** `max_price` in units of `10^-trigger_digits`: a trigger here is met by every quote. */
    highest_trigger: 10n ** 22n,
    /** Above every price on the wire in these units: what a key adds to a price, so that those below zero sort too. */
    trigger_offset: 10n ** 27n,
    /** Decimals of a rate or an average price. */
    rate_digits: 12,
    /** Decimals of a margin per lot: of 10^9 lots they are less than a millionth of a minor unit. */
    margin_term_digits: 18,
    /**
     * So long before credit of an account with positions ends a message is sent that is seen at its end: a sweep comes
     * once a minute, and one may be missed (SQS delays a message by 900 s at most).
     */
    credit_end_ahead_ms: 150_000,
    /** The sweep finds an abandoned liquidation after this time. */
    run_resumed_after_ms: 30_000,
    /** A stop-out by a platform is over when no deal has continued it for this time. */
    platform_run_quiet_seconds: 5,
    /** An account at its stop-out level that nothing can be done about is looked at again after this time. */
    stuck_retried_after_ms: 60_000,
    /**
     * Partitions that the accounts of one symbol and direction are spread over at the most; each that is in use costs
     * every tick a read. The number in use rises and never falls: what is in a shard that no tick reads is lost.
     */
    exposure_shards: 9,
    /** As many are in use until a price meets more accounts. */
    first_exposure_shards: 2,
    /** Evaluations of so many accounts take what a partition of DynamoDB writes in a second, at 8 units each. */
    met_per_exposure_shard: 100,
    /** Index partitions of a brokerage's list of margin levels, and of each margin status. May rise, never fall. */
    risk_shards: 5,
    /** How long a function remembers which symbols a tenant has; what a symbol says is read apart from that. */
    symbols_cached_ms: 10_000,
    /** Tenants whose symbols one function remembers. */
    symbols_cached_tenants: 50,
    /** How old the terms of a symbol may be that an account is judged by; whatever opens or closes reads them. */
    terms_remembered_ms: 2000,
    /** Symbols whose terms one function remembers for that. */
    remembered_terms: 5000,
    /** Time zones, and times of a day in them, whose clock and moment one function remembers. */
    remembered_zones: 100,
    remembered_instants: 5000,
    /** Positions whose nights one transaction stores: two items each, and room for what the account waits for. */
    accruals_per_step: 35,
    /** How long the terms and the rate of a night are kept. */
    rollover_kept_seconds: 90 * 24 * 3600,
    /** How long a deal of a source is remembered, so that it is applied once. */
    dedup_kept_seconds: 90 * 24 * 3600,
  },
  margin: {
    /** An account that a price is to be judged at is sent at once, and then once in this time, whatever prices do. */
    window_seconds: 1,
    /** Accounts whose last message one function remembers; one that is forgotten is only sent once more. */
    remembered_accounts: 50_000,
    /** Symbols that one function watches at the same time. */
    parallel_symbols: 8,
    /**
     * Work that a sweep sent, and a symbol whose price met triggers, is looked at again after this time: a message may
     * be lost.
     */
    looked_again_seconds: 60,
    /** Each further look at a symbol whose price stays where it is waits twice as long, up to this. */
    looked_again_max_seconds: 3600,
    /** An account is judged at least so long after credit of it ended: clocks of two machines differ. */
    credit_end_margin_ms: 250,
    /** A symbol whose price met triggers is noted at most once in this time; less than half of the time above. */
    noted_again_seconds: 20,
    /** Orders of a disabled account are looked for again until it has been disabled for so long: indexes lag. */
    orders_settled_seconds: 10,
    /** Orders that a sweep ends at the same time. */
    parallel_orders: 16,
  },
  feed: {
    /**
     * A source that sent no batch for so many seconds, not even an empty one, is stale, and so is what depends on it:
     * the default, and what a source may have instead. At least two of the heartbeats that are asked for every 15 s.
     */
    silent_after_seconds: { default: 60, min: 30, max: 600 },
    /** Seconds between two snapshots of a source: the default, and what a source may have instead. */
    snapshot_interval_seconds: { default: 60, min: 10, max: 86_400 },
    /** Intervals without a snapshot after which they are late: one may be lost, and the next takes time to be made. */
    snapshots_late_after_intervals: 3,
    /** Items of one batch. */
    max_items: 100,
    /** Prices of one call. */
    max_quotes: 200,
    /** Sources of a tenant. */
    max_sources: 50,
    /** Largest item that is put aside as it came: a page of a hundred must fit into an answer. */
    max_item_bytes: 16 * 1024,
    /** An item dated further ahead of the clock here, or before this day, is booked at its receipt. */
    item_ahead_ms: 300_000,
    first_item_at: "2000-01-01T00:00:00.000Z",
    /** Deals that one name may stand for, each a correction of the one before that was taken back. */
    max_contents: 20,
    /** Transactions that an item names whose money it could be. */
    max_candidates: 10,
    /** Accounts, or symbols, that one request works on at the same time. */
    parallel: 16,
    /** Transactions of one batch at the same time: a hundred deals take about seventeen. */
    parallel_transactions: 24,
    /** Accounts whose positions an environment remembers from its last batches, and positions of each of them. */
    remembered_accounts: 1000,
    remembered_positions: 50,
    /** Names whose accounts, trades and clients it remembers likewise. */
    remembered_names: 10_000,
    /** Times that the items of a batch are decided from reads in common; what is left then is decided one by one. */
    passes: 3,
    /** Bytes of a transaction of several accounts, as JSON; one of DynamoDB has 4 MB. */
    max_transaction_bytes: 2 * 1024 * 1024,
    /** Tries to write a price that others write too. */
    quote_tries: 5,
    /** A price whose time is further ahead of our clock is refused. */
    clock_ahead_ms: 5000,
    /** A price that is older than this loses to one of another source that was received within this time. */
    backlog_ms: 5000,
    /** A price that deviates too far is confirmed by a second one near it within this time. */
    confirmation_ms: 10_000,
    /** Largest bound of deviation that a symbol may set, in percent. */
    max_deviation_percent: 100,
    /** Rest of the function's time when nothing new is begun; the rest of a batch is sent again. */
    reserve_ms: 3000,
  },
  commands: {
    /** Commands that one call takes: each takes up to four of the 100 items of a transaction. */
    max_taken: 10,
    /** Waiting commands that one call reads at once, the oldest first: more of them wait for the lanes of accounts. */
    looked_at: 100,
    /**
     * It reads on for so many seconds while it finds fewer commands than it may take: about 50,000 commands, at 20 ms
     * for a page with its items and lanes.
     */
    looking_seconds: 10,
    /** Lease of a taken command. A bridge starts nothing after half of it, and needs time to acknowledge. */
    lease_seconds: 60,
    min_lease_seconds: 10,
    max_lease_seconds: 300,
    /** A person hands an unknown command out again at the earliest so long after its lease ended. */
    requeued_after_seconds: 600,
    /** A search that its bridge could not make is issued again after so long, and so many times at the most. */
    searched_again_seconds: 600,
    max_searches: 6,
    /**
     * Newest commands of settlements of an account that a comparison of its books asks for their numbers. Of older ones
     * it knows what was not reported: one that is reported after a snapshot was taken, and before it is compared, is a
     * drift until the next snapshot.
     */
    compared_settlements: 12,
    /** A command that waits longer is reported by the sweep: its bridge does not take commands. */
    late_after_seconds: 120,
    /** A liquidation that no bridge has taken by then expires, and is decided again at the newest prices. */
    liquidation_taken_within_seconds: 60,
    /**
     * Result of a liquidation is believed for so long without a change of its position. Then the position may be closed
     * by another command, which the bridge refuses if its lots differ.
     */
    liquidation_believed_seconds: 60,
    /** Commands of an account that a run keeps: those that have not ended, and those that were refused just now. */
    liquidations_kept: 32,
  },
  snapshots: {
    /** Accounts of one part: as many as fit into the largest body. */
    max_accounts: 4096,
    /** Parts of one snapshot. */
    max_parts: 1000,
    /**
     * A booking that no item has reported yet is compared as booked this long afterwards, so that an acknowledgement of
     * an operation that does not exist is found.
     */
    unnumbered_seconds: 300,
    /** How far the clock of a platform may be from ours. A snapshot whose time is further ahead is refused. */
    clock_skew_seconds: 60,
    /** Entries of one ledger that a comparison looks at; an account with more of them in that time has moved on. */
    looked_at_entries: 200,
    /** Accounts of a part that the result names with what was not compared. */
    named_accounts: 100,
    /** Identifiers of one account that it names. */
    named_ids: 20,
    /** Accounts of a part whose positions, ledger or drifts are read or written at the same time. */
    parallel: 16,
    /** Differences of an account that one commit reports; the next snapshot reports the others. */
    reported_at_once: 20,
    /**
     * Rejected items of a source that a comparison searches for the explanation of a difference, 10 MB of them. To
     * resolve one all of them are searched.
     */
    searched_rejects: 10_000,
    /** Positions of an account that one commit can adopt, together with its money or after it. */
    baseline_positions: 12,
    /** Passes over the rejected items of an account that has been adopted. */
    baseline_passes: 3,
    /** When the sweep ends an adoption, unless the request has. */
    baseline_retried_after_seconds: 60,
    /** Partitions that the logins of a source with a difference are spread over. */
    login_shards: 16,
    /** How long a snapshot is kept. */
    kept_seconds: 30 * 24 * 3600,
    /** An account that could not be compared completely for so long raises an alarm. */
    moved_on_alarm_seconds: 24 * 3600,
  },
  sandbox: {
    /** Prices that one call sets. */
    max_prices: 50,
    /** Tries to write a price that others write too, with pauses as those between commits. */
    price_tries: 8,
    /**
     * No function works longer than this on what it read: what is not there by then is not added any more. A reset lets
     * it pass between its walks through everything.
     */
    reset_settles_seconds: 60,
    /** Items that a reset removes, and partitions that it reads, at the same time. */
    reset_parallel: 32,
    /** Items of one read of a reset. */
    reset_page: 500,
    /** After this time the sandbox's provider takes back what it paid, where the amount says so. */
    returned_after_seconds: 24 * 3600,
    /** A refused move of the provider is tried again after this time. */
    provider_retry_seconds: 300,
    /** Orders, stops and accounts that a price acts on within its request; its stream brings the others on. */
    max_effects: 50,
    /** The same for one invocation of the matcher. */
    max_matched: 1000,
    /** Accounts that it acts on at the same time. */
    parallel: 8,
    /** An order or a stop is found by its mark for so long, and by an index after it: no index lags longer. */
    newly_waiting_seconds: 60,
    /** A price that walks takes a step in this time, and ends after so many of them: a week. */
    walk_step_seconds: 60,
    max_walk_steps: 10_080,
    /** Rest of the function's time when nothing new is begun. */
    reserve_ms: 3000,
    /** How long an answer waits for events to get their numbers, looking after each pause. */
    events_awaited_ms: 4000,
    events_pause_ms: 50,
  },
  /** The WebSocket stream. */
  stream: {
    /** A ticket opens a connection within this time. */
    ticket_seconds: 60,
    /** Letters and digits of a ticket after its prefix: 256 bits. */
    ticket_characters: 43,
    /** Connections of one application or operator. */
    connections_per_holder: 25,
    /** Connections that one worker serves together. */
    connections_per_set: 50,
    /** API Gateway ends every connection after two hours (AWS docs: API Gateway quotas). */
    connection_seconds: 7200,
    /**
     * A handshake is answered, and a connection is a member of its set, within this time (AWS docs: integration
     * timeout). API Gateway answers 410 for a connection whose handshake is not answered yet.
     */
    joined_within_ms: 30_000,
    /** Its item is kept for so much longer, as are the items that list it. */
    kept_seconds: 3600,
    /** `expiring` is sent so long before the end of a connection. */
    expiring_seconds: 60,
    /** API Gateway ends a connection that was quiet for ten minutes (AWS docs). */
    heartbeat_seconds: 300,
    /** Longest name that a client gives a subscription or a message. */
    max_id_characters: 64,
    /** Of all subscriptions of a connection together. */
    channels_per_connection: 20,
    accounts_per_connection: 200,
    symbols_per_connection: 100,
    /** Quotes of a symbol in a second: the most that a client may ask for, and what it gets if it asks for nothing. */
    max_quotes_per_second: 5,
    default_quotes_per_second: 1,
    /** A name is free so long after its subscription has ended: messages of that one are on their way no longer. */
    name_rest_ms: 10_000,
    /** Messages of a client in one clock second; after as many that were refused in it, the connection is ended. */
    messages_per_second: 10,
    /** Largest message of a client, in bytes: one frame of API Gateway (AWS docs). */
    max_message_bytes: 32 * 1024,
    /** Largest batch, in bytes: one message of API Gateway's price. */
    batch_bytes: 32 * 1024,
    /** API Gateway charges a message for each of these that it begins (AWS: API Gateway pricing). */
    metered_bytes: 32 * 1024,
    /** A connection receives one batch of live messages in this time. */
    batch_ms: 200,
    /** An account that prices move is sent once in this time. */
    account_ms: 5000,
    /** Accounts of a snapshot of the channel `margin`, and commands of one of the channel `commands`. */
    snapshot_accounts: 200,
    snapshot_commands: 100,
    /** Time of one post. A connection that needs longer is served apart, and ended if it takes nothing for so long. */
    post_ms: 1000,
    /** Times that an answer to a client is posted before its connection is ended. */
    answer_tries: 3,
    stalled_ms: 5000,
    /** So much of a second an invocation may use at once: a set of fifty connections is served without a wait. */
    posts_burst_ms: 200,
    /**
     * From the third run on that begins so soon after the one before, a worker looks by itself: a second of looks costs
     * as much as four runs (ADR 0067).
     */
    quick_ms: 500,
    quick_runs: 3,
    /** Events that one read of a replay takes, and members of a set that read their states at the same time. */
    events_per_read: 250,
    parallel_reads: 16,
    /** Accounts, quotes and terms of symbols that a worker remembers between two looks, in milliseconds. */
    terms_remembered_ms: 2000,
    /** Rest of the function's time when a worker posts nothing more. */
    reserve_ms: 1000,
    /** A worker looks at its set for so long after something happened, and for so long in all before it hands over. */
    hot_ms: 3000,
    loop_ms: 6000,
    /** No message wakes a worker that looks at its set for so much longer. */
    hot_reserve_ms: 500,
    /** Cursors are written at least this often: what was sent since then is repeated after a crash. */
    cursors_written_ms: 2000,
    /** How far the clock of the queue may be from that of a worker, at most: AWS keeps both within milliseconds. */
    clocks_differ_ms: 1000,
    /** How long the margin watch remembers which sets follow prices. */
    flag_remembered_ms: 1000,
    /** A publisher that began before a flag was there may have published so long after it. */
    flag_settled_ms: 6000,
    /** Tries of a change that other connections make at the same time. */
    change_tries: 10,
    /** A connection that should have ended so long ago is ended by the sweep: its `$disconnect` was lost. */
    swept_after_seconds: 60,
    /** Brokerages that the sweep works on at the same time. */
    tenants_at_once: 8,
  },
  jobs: {
    /** Jobs of a brokerage that have not ended, and those that it starts on a day (UTC). */
    max_open: 10,
    max_per_day: 100,
    /** Lists are read from so long after the request on: by then all that was made before is seen. */
    lists_settle_seconds: 60,
    /** Files of a result, and their size in bytes before compression; one smaller file alone is not compressed. */
    max_files: 500,
    max_file_bytes: 32 * 1024 * 1024,
    uncompressed_bytes: 8 * 1024 * 1024,
    /** How long a step reads, and when another worker looks for one that has not ended. */
    step_ms: 40_000,
    claim_seconds: 180,
    /** Times that a step is begun, and how long a job may take. */
    max_tries: 5,
    max_seconds: 24 * 3600,
    /** Steps at the same time, and the rest of the time of the function in which none is begun. */
    parallel: 4,
    step_reserve_ms: 90_000,
    /** Rows of one read of a list, accounts of one read at prices, and accounts whose ledgers are read together. */
    rows_per_read: 500,
    valued_per_read: 100,
    ledgers_parallel: 16,
    /** Days that a result can be had, and seconds that an address of it is good for. */
    result_days: 7,
    link_seconds: 300,
    /** A job that waits longer than this raises an alarm. */
    late_after_seconds: 1800,
    /** How long a job is shown. */
    kept_seconds: 90 * 24 * 3600,
  },
  openapi: {
    /** Columns of a line of the published documents, its comma included. */
    printed_columns: 120,
  },
  compression: {
    /**
     * The gateway compresses an answer from this size on for a caller who asks for it: the description of the API and
     * long pages. No resource with a strong entity tag is as large, which would lie of two codings (RFC 9110 8.8.3.3).
     */
    from_bytes: 128 * 1024,
  },
  deployment: {
    /**
     * Resources, methods and responses of the gateway that are created at the same time, of each type. API Gateway
     * takes 5 CreateResource and 10 other calls a second from an account (AWS docs: API Gateway quotas), and a method
     * is two to four calls.
     */
    gateway_parallel_creations: 5,
  },
  functions: {
    memory_mb: 512,
    /**
     * Memory of what computes for seconds: Lambda gives a whole processor at 1,769 MB (AWS docs: Lambda function
     * memory), and 0.29 of one at 512 MB.
     */
    computing_memory_mb: 1769,
    timeout_seconds: 10,
    /** Time of the warm-up request of a new environment, whose whole start may take 10 s (AWS docs: init phase). */
    warm_up_ms: 1000,
    /** Minutes between two invocations that keep an environment: Lambda ends idle ones after 5 to 15 minutes. */
    keep_warm_minutes: 5,
    /** Share of a request in the average of the last ones, and how many bounds one counts as at most (see `slow`). */
    slow_share: 0.05,
    slow_most: 3,
  },
  /** One request, from its arrival in a function to its answer (ADR 0032). */
  request: {
    /** Time of a request that reads, and of one that changes something. */
    read_budget_ms: 3000,
    write_budget_ms: 5000,
    /** An answer is there so long before the function's timeout, whatever a request takes. */
    answer_reserve_ms: 1000,
    /** Seconds after which a request that was given up may come again. */
    retry_after_seconds: 2,
  },
  /** Calls of AWS. */
  calls: {
    /** Tries of a call that is throttled, fails at the service or loses its connection: the SDK's, and no others. */
    attempts: 3,
    /** In the SDK's words: milliseconds for a connection to stand, for an answer to begin, and between two requests. */
    handler: {
      connectionTimeout: 1000,
      requestTimeout: 1500,
      throwOnRequestTimeout: true,
      /** Services keep an idle connection for longer; sockets on the way, such as NAT, for 350 s (AWS docs). */
      idleConnectionTimeout: 15_000,
    },
    /** The same for what changes API keys, which no caller waits for. */
    slow_handler: {
      connectionTimeout: 1000,
      requestTimeout: 5000,
      throwOnRequestTimeout: true,
      idleConnectionTimeout: 15_000,
    },
  },
} as const;
