import { LooseleafError } from '@looseleaf/core'
import { platformTime } from '@looseleaf/core/internal'
import { literal, tokenAssignment, tokenCondition } from './session-token.ts'

export interface SessionOptions {
  /** Name of the shard, for errors. */
  readonly name: string
  /** Whole seconds that a statement waits for a lock on a row or a table. */
  readonly lockWaitSeconds: number
  /** Whole seconds after which the server closes a silent connection, and releases its locks. */
  readonly silenceSeconds: number
}

export interface SessionIdentity {
  /** Host name, port and server id. Two servers behind one address may have the same. */
  readonly server: string
  /** Number of the connection for KILL. Later connections have greater numbers, until the server restarts. */
  readonly thread: number
  /** Start of the server in seconds of `performance.now()`, within about a second; NaN if the server does not tell. */
  readonly started: number
}

/** A restarted server appears to have started at least this much later. */
const RESTART_SECONDS = 3

/** Facts of a session whose settings are pinned. */
export interface PinnedSession {
  /** Largest statement in bytes, with its parameters. The server closes the connection on a larger one, and its outcome is unknown. */
  readonly maxPacketBytes: number
  /** Name of the variable of the isolation level. */
  readonly isolationName: string
}

const CHARSET = 'utf8mb4'

/**
 * Returns the settings of every session, whatever the server's defaults are:
 * - `STRICT_ALL_TABLES`: without it the server cuts values that are too long.
 * - `completion_type`: after a COMMIT that chains, later statements would run in a transaction that is never ended.
 * - `unique_checks`: without them an entity could exist twice.
 * - `sql_select_limit`: a lower limit would drop rows of answers silently.
 * - `sql_big_selects`: without it the server rejects statements that it estimates above `max_join_size`.
 * - `sql_safe_updates`: with it the server rejects swaps, whose keys come from a joined list.
 */
function settingsOf({ lockWaitSeconds, silenceSeconds }: SessionOptions): Readonly<Record<string, string>> {
  return {
    sql_mode: 'STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION',
    time_zone: '+00:00',
    autocommit: 'ON',
    completion_type: 'NO_CHAIN',
    unique_checks: 'ON',
    sql_select_limit: '18446744073709551615',
    sql_big_selects: 'ON',
    sql_safe_updates: 'OFF',
    character_set_client: CHARSET,
    character_set_connection: CHARSET,
    character_set_results: CHARSET,
    innodb_lock_wait_timeout: String(lockWaitSeconds),
    lock_wait_timeout: String(lockWaitSeconds),
    wait_timeout: String(silenceSeconds),
  }
}

/** Names of the isolation level: the first in MariaDB, the second in the latest servers. At least one must be present. */
const isolationNames = ['tx_isolation', 'transaction_isolation']

const packetName = 'max_allowed_packet'

const identityNames = ['hostname', 'port', 'server_id', 'pseudo_thread_id']

/** Returns the statements that set the settings and the token, in the order of sending. */
export function pinStatements(options: SessionOptions, token: Buffer): readonly string[] {
  const assignments = Object.entries(settingsOf(options)).map(
    ([name, value]) => `${name} = ${/^\d+$/.test(value) ? value : `'${value}'`}`,
  )
  return [
    `SET SESSION ${assignments.join(', ')}, ${tokenAssignment(token)}`,
    'SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED',
  ]
}

/**
 * Returns the statements that begin a transaction at one snapshot, in the order of sending. The first one changes the isolation level of
 * the next transaction alone, because it names the variable without a scope. It fails in a session without this token: there, the
 * transaction would have the level READ COMMITTED, and silently show a later state to each statement.
 */
export function snapshotStatements(isolationName: string, token: Buffer): readonly [string, string] {
  const level = `IF(${tokenCondition(literal(token))}, 'REPEATABLE-READ', NULL)`
  return [`SET @@${isolationName} = ${level}`, 'START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY']
}

/** Reads the settings back: a proxy may answer OK and send a SET nowhere, or to another server. */
export function readBackStatement(options: SessionOptions, token: Buffer): string {
  const names = [...Object.keys(settingsOf(options)), ...isolationNames, packetName, ...identityNames]
  return `${showStatement(names)} AND ${tokenCondition(literal(token))}`
}

/** Reads the identity of the session, together with `uptimeStatement`. */
export function identityStatement(): string {
  return showStatement(identityNames)
}

export const uptimeStatement = "SHOW GLOBAL STATUS WHERE Variable_name = 'Uptime'"

export function checkedUptimeStatement(token: Buffer): string {
  return `${uptimeStatement} AND ${tokenCondition(literal(token))}`
}

function showStatement(names: readonly string[]): string {
  return `SHOW SESSION VARIABLES WHERE Variable_name IN (${names.map((name) => `'${name}'`).join(', ')})`
}

/** Checks the answer to `readBackStatement`. Throws `STATEMENT_FAILED` if a setting has another value. */
export function checkSession(answer: unknown, options: SessionOptions): PinnedSession {
  const values = valuesOf(answer)
  for (const [name, expected] of Object.entries(settingsOf(options))) {
    const value = values.get(name)
    if (value === undefined || normalized(value) !== normalized(expected))
      throw settingIgnored(options.name, name, expected)
  }
  const present = isolationNames.filter((name) => values.has(name))
  const isolationName = present[0]
  if (isolationName === undefined || present.some((name) => values.get(name) !== 'READ-COMMITTED')) {
    throw settingIgnored(options.name, 'the isolation level', 'READ COMMITTED')
  }
  const maxPacketBytes = Number(values.get(packetName) ?? Number.POSITIVE_INFINITY)
  return { maxPacketBytes, isolationName }
}

/** Reads the answers to `identityStatement` and `uptimeStatement`. Call it right after the second: it subtracts the uptime from now. */
export function identityOf(answer: unknown, uptimeAnswer: unknown): SessionIdentity {
  const values = valuesOf(answer)
  return {
    server: JSON.stringify(['hostname', 'port', 'server_id'].map((name) => values.get(name))),
    thread: Number(values.get('pseudo_thread_id')),
    started: platformTime.elapsed() / 1_000 - Number(valuesOf(uptimeAnswer).get('uptime')),
  }
}

/**
 * Tells whether a session was opened on the server of `later`, and before it. Otherwise the thread may be another client's: the
 * address leads to another server by now, or the server has restarted and counts from the beginning.
 */
export function isEarlierSession(session: SessionIdentity, later: SessionIdentity): boolean {
  const restarted = Math.abs(later.started - session.started) >= RESTART_SECONDS
  return session.server === later.server && session.thread < later.thread && !restarted
}

function settingIgnored(name: string, setting: string, expected: string): LooseleafError {
  return new LooseleafError(
    'STATEMENT_FAILED',
    `${name}: ${setting} was set to ${expected} for the session, and read back as another value.` +
      ` The server, or a proxy before it, does not keep session settings, so the connection is not used.`,
    { shard: name },
  )
}

/** Sorts lists of modes, and spells switches as words: servers differ in both. */
function normalized(value: string): string {
  if (value === '1') return 'ON'
  if (value === '0') return 'OFF'
  return value.toUpperCase().split(',').toSorted().join(',')
}

function valuesOf(answer: unknown): ReadonlyMap<string, string> {
  const values = new Map<string, string>()
  for (const row of Array.isArray(answer) ? answer : []) {
    // A proxy may answer with other rows than those of SHOW VARIABLES.
    const { Variable_name: name, Value: value } = (row ?? {}) as { Variable_name?: unknown; Value?: unknown }
    if (name !== undefined && value !== undefined) values.set(String(name).toLowerCase(), String(value))
  }
  return values
}
