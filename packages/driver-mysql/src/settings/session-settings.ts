import { LooseleafError, platformTime } from '@looseleaf/core'
import { literal, tokenAssignment, tokenCondition } from './session-token.ts'

export interface SessionOptions {
  /** The shard's name, for errors. */
  readonly name: string
  /** Whole seconds that a statement waits for a row or a table that others have locked. */
  readonly lockWaitSeconds: number
  /** Whole seconds after which the server gives up a connection that says nothing, and its locks with it. */
  readonly silenceSeconds: number
}

/** Which session of which server a connection has turned out to be. */
export interface SessionIdentity {
  /** Differs between the servers of one address, as far as they can be told apart. */
  readonly server: string
  /** What KILL takes. Later connections to the same server have greater ones, until it starts anew. */
  readonly thread: number
  /** When the server was started, in seconds of `performance.now()`, more or less; NaN where it does not say. */
  readonly started: number
}

/** A server that starts anew is seen to have started this much later at least. */
const RESTART_SECONDS = 3

/** What a session turns out to be once its settings are pinned. */
export interface PinnedSession {
  /** The longest statement that the server takes, parameters included. */
  readonly maxPacketBytes: number
}

const CHARSET = 'utf8mb4'

/**
 * What every session has to be before it may be used, whatever the server's defaults are. Without STRICT_ALL_TABLES it
 * would cut what is too long. After a COMMIT that chains, what
 * follows would be in a transaction that nobody ends. Without unique checks an entity could be there twice, and with a
 * limit on its selects, answers would lack rows without a word. Without big selects, which a `max_join_size` of the server
 * forbids, it would refuse those that it takes for long.
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
    character_set_client: CHARSET,
    character_set_connection: CHARSET,
    character_set_results: CHARSET,
    innodb_lock_wait_timeout: String(lockWaitSeconds),
    lock_wait_timeout: String(lockWaitSeconds),
    wait_timeout: String(silenceSeconds),
  }
}

/** MariaDB knows it by the first name, and the latest servers by the second: one of them has to be there. */
const isolationNames = ['tx_isolation', 'transaction_isolation']

const packetName = 'max_allowed_packet'

const identityNames = ['hostname', 'port', 'server_id', 'pseudo_thread_id']

/** The statements that pin the settings, and mark the session with the token, to be sent in this order. */
export function pinStatements(options: SessionOptions, token: Buffer): readonly string[] {
  const assignments = Object.entries(settingsOf(options)).map(
    ([name, value]) => `${name} = ${/^\d+$/.test(value) ? value : `'${value}'`}`,
  )
  return [
    `SET SESSION ${assignments.join(', ')}, ${tokenAssignment(token)}`,
    'SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED',
  ]
}

/** Reads back what was pinned: a proxy may answer OK, and send a statement nowhere or to another server. */
export function readBackStatement(options: SessionOptions, token: Buffer): string {
  const names = [...Object.keys(settingsOf(options)), ...isolationNames, packetName, ...identityNames]
  return `${showStatement(names)} AND ${tokenCondition(literal(token))}`
}

/** Asks which session of which server this is, and nothing else; together with `uptimeStatement`. */
export function identityStatement(): string {
  return showStatement(identityNames)
}

export const uptimeStatement = "SHOW GLOBAL STATUS WHERE Variable_name = 'Uptime'"

/** The same, of the session that was marked. */
export function ownUptimeStatement(token: Buffer): string {
  return `${uptimeStatement} AND ${tokenCondition(literal(token))}`
}

function showStatement(names: readonly string[]): string {
  return `SHOW SESSION VARIABLES WHERE Variable_name IN (${names.map((name) => `'${name}'`).join(', ')})`
}

/** Throws `STATEMENT_FAILED` when a setting is not what it was set to. */
export function checkSession(answer: unknown, options: SessionOptions): PinnedSession {
  const values = valuesOf(answer)
  for (const [name, wanted] of Object.entries(settingsOf(options))) {
    const value = values.get(name)
    if (value === undefined || normal(value) !== normal(wanted)) throw ignored(options.name, name, wanted)
  }
  const isolations = isolationNames.flatMap((name) => values.get(name) ?? [])
  if (isolations.length === 0 || isolations.some((isolation) => isolation !== 'READ-COMMITTED')) {
    throw ignored(options.name, 'the isolation level', 'READ COMMITTED')
  }
  const maxPacketBytes = Number(values.get(packetName) ?? Number.POSITIVE_INFINITY)
  return { maxPacketBytes }
}

/** Takes the answers to both statements, the second one as soon as it has come. */
export function identityOf(answer: unknown, uptimeAnswer: unknown): SessionIdentity {
  const values = valuesOf(answer)
  return {
    server: JSON.stringify(['hostname', 'port', 'server_id'].map((name) => values.get(name))),
    thread: Number(values.get('pseudo_thread_id')),
    started: platformTime.elapsed() / 1_000 - Number(valuesOf(uptimeAnswer).get('uptime')),
  }
}

/**
 * Whether a session that was opened earlier is one of the server that `later` is on. An address may lead to another server
 * by now, or the server have begun to count anew: a thread of the same number would be somebody else's.
 */
export function isEarlierSession(session: SessionIdentity, later: SessionIdentity): boolean {
  const restarted = Math.abs(later.started - session.started) >= RESTART_SECONDS
  return session.server === later.server && session.thread < later.thread && !restarted
}

function ignored(name: string, setting: string, wanted: string): LooseleafError {
  return new LooseleafError(
    'STATEMENT_FAILED',
    `${name}: ${setting} was set to ${wanted} for the session, and read back as something else;` +
      ` the server, or a proxy before it, does not keep what a session sets, so the connection is not used.`,
    { shard: name },
  )
}

/** Servers give the modes in an order of their own, and switches as words or digits. */
function normal(value: string): string {
  if (value === '1') return 'ON'
  return value.toUpperCase().split(',').toSorted().join(',')
}

function valuesOf(answer: unknown): ReadonlyMap<string, string> {
  const values = new Map<string, string>()
  for (const row of Array.isArray(answer) ? answer : []) {
    // A row of SHOW VARIABLES, if the server is one.
    const { Variable_name: name, Value: value } = (row ?? {}) as { Variable_name?: unknown; Value?: unknown }
    if (name !== undefined && value !== undefined) values.set(String(name).toLowerCase(), String(value))
  }
  return values
}
