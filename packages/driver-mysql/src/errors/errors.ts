import { clientFailure, lackingTable, type Fault } from '@looseleaf/driver-kysely/internal'
import {
  COLUMN_MISFITS,
  diskFull,
  engineEnforced,
  errorNumbers,
  fenceRefused,
  fileErrors,
  NOT_ALLOWED,
  NOT_PREPARED,
  OTHER_PACKET,
  OTHER_PARAMETERS,
  otherSession,
  OVERFLOW,
  refusedOutright,
  STATEMENT_UNKNOWN,
  TOKEN_DIFFERS,
  UNKNOWN_STATEMENT,
  userConnections,
  type ErrorMark,
  type ErrorMeaning,
} from './error-numbers.ts'

/** Codes of mysql2 and Node for a server that cannot be reached, so that nothing was sent. */
const unreachable =
  /^(EACCES|EADDRNOTAVAIL|EAI_[A-Z]+|ECONNREFUSED|EHOSTDOWN|EHOSTUNREACH|EMFILE|ENETDOWN|ENETUNREACH|ENOENT|ENOTFOUND)$/

const tlsCode = /^ERR_TLS|^ERR_O?SSL|CERT|^UNABLE_TO|HANDSHAKE_(NO_)?SSL/

/** An error that a connection of this driver creates. */
export interface ClientError extends Error {
  readonly code:
    | 'ANSWERS_MISSING'
    | 'CALL_DEADLINE'
    | 'CALL_TOO_LATE'
    | 'COMMIT_UNPROVEN'
    | 'CONNECTION_GONE'
    | 'PACKET_TOO_LARGE'
}

/** The error for a statement that reached another session than the connection has set up. */
export interface SessionError extends Error {
  readonly code: 'OTHER_SESSION'
  /** Reason why that is known, for `otherSession`. */
  readonly reason: string
  /** True if the call has written something, which may be committed or not. */
  readonly unsure: boolean
}

export function clientError(code: ClientError['code']): ClientError {
  return Object.assign(new Error(code), { code })
}

export function sessionError(reason: string, unsure: boolean): SessionError {
  const code = 'OTHER_SESSION'
  return Object.assign(new Error(code), { code, reason, unsure } as const)
}

export function isOtherSession(error: unknown): error is SessionError {
  return hasCode(error, 'OTHER_SESSION')
}

/** Tells whether an error is one of this driver's connections with this code. */
export function hasCode(error: unknown, code: ClientError['code'] | SessionError['code']): boolean {
  return (error as { code?: unknown } | null | undefined)?.code === code
}

/** Returns why a server's error proves that a statement reached another session; undefined for every other error. */
export function otherSessionReason(error: unknown): string | undefined {
  switch (serverNumber(error)) {
    case OVERFLOW:
      return isRefusedFence(error) ? undefined : TOKEN_DIFFERS
    case UNKNOWN_STATEMENT:
    case OTHER_PARAMETERS:
    case OTHER_PACKET:
      return STATEMENT_UNKNOWN
    default:
      return undefined
  }
}

/**
 * Maps an error of mysql2 or of a server. An error that is not the server's means that the answer is missing: a read may be
 * retried, and the outcome of a write is unknown.
 */
export function mysqlFault(error: unknown, write: boolean): Fault {
  const cause = causeOf(error)
  const [kind, message, ...marks] = meaningOf(error)
  if (isOtherSession(error)) {
    const outcome = error.unsure ? ' What was written before that may or may not be committed.' : ''
    return { kind, message: message + outcome, unknownOutcome: error.unsure, cause }
  }
  if (write && marks.includes('unsure')) {
    return {
      kind: 'OUTCOME_UNKNOWN',
      message: `${message} The write may or may not have been done.`,
      cause,
    }
  }
  return {
    kind,
    message,
    undone: marks.includes('undone'),
    ...(kind === 'no-table' && { table: missingTable(error) }),
    cause,
  }
}

function missingTable(error: unknown): string | undefined {
  return /^Table '(?:[^']*\.)?([\w$]+)' doesn't exist/.exec(String((error as Error).message))?.[1]
}

/** Tells whether the server could not prepare or run a prepared statement. The server has done nothing, and may accept it as text. */
export function refusesPrepared(error: unknown): boolean {
  return NOT_PREPARED.has(serverNumber(error) ?? 0)
}

/** Tells whether the server, or a proxy, refused a packet because it has several statements, and so did nothing. */
export function refusesPackets(error: unknown): boolean {
  const number = serverNumber(error) ?? 0
  return number === NOT_ALLOWED || refusedOutright.has(number)
}

/** Tells whether the server cannot be reached or is shutting down. */
export function saysDown(error: unknown): boolean {
  return meaningOf(error).includes('down')
}

/** Tells whether the address of the server may lead to another one by now, because this one takes no writes or no calls. */
export function saysOutdated(error: unknown): boolean {
  return meaningOf(error).includes('outdated')
}

/** Tells whether the connection cannot be used after this error. */
export function endsConnection(error: unknown): boolean {
  const { fatal } = (error ?? {}) as { fatal?: unknown }
  return fatal === true || serverNumber(error) === undefined || meaningOf(error).includes('ends')
}

/** Names the privilege and the table. The server's message has the user and the address as well, which do not belong in logs. */
function deniedOn(message: string): ErrorMeaning {
  const found = /^([A-Z ,]+) command denied .* for table ([`'"])(?:[^`'"]+\2\.\2)?([^`'"]+)\2$/.exec(message)
  if (found === null) return errorNumbers[1142] as ErrorMeaning
  return ['SHARD_DENIED', `the user lacks the privilege ${found[1]} on the table ${found[3]}.`]
}

/** Servers name the option in the messages of every language. */
function preventedBy(message: string): ErrorMeaning {
  if (/NO_ENGINE_SUBSTITUTION/.test(message)) return engineEnforced
  const option = /--([\w-]+)/.exec(message)?.[1]
  if (option === undefined || /read.only/.test(option)) return errorNumbers[1290] as ErrorMeaning
  return ['STATEMENT_FAILED', `the server refused a statement because of its option ${option}.`, 'unsure']
}

/** Servers name the limit in the messages of every language, after the user. */
function userLimit(message: string): ErrorMeaning {
  const limit = /'(max_[a-z_]+)'[^']*$/.exec(message)?.[1]
  if (limit === 'max_user_connections') return userConnections
  if (limit === undefined) return errorNumbers[1226] as ErrorMeaning
  return ['SHARD_BUSY', `the user has reached its limit ${limit} on the server; raise it with ALTER USER.`]
}

/** Names the column or key, and the tables of the statement. */
function lackingOf(error: unknown, part: 'column' | 'key'): ErrorMeaning {
  const { message, sql } = error as { readonly message?: unknown; readonly sql?: unknown }
  const name = /^(?:Unknown column|Key) '(?:[^'.]+\.)*([^'.]+)'/.exec(String(message))?.[1]
  const tables = String(sql ?? '').matchAll(/\b(?:FROM|INTO|JOIN|UPDATE) `?([\w$]+)/g)
  return ['NOT_MIGRATED', lackingTable(part, name, [...new Set(Array.from(tables, ([, table]) => table!))])]
}

/** Names the column and the table. The server's message may contain the value, and the statement contains others. */
function misfitOf(error: unknown): ErrorMeaning {
  const { message, sql } = error as { readonly message?: unknown; readonly sql?: unknown }
  const column = /[`'".]([\w$]+)[`'"]? at row \d+$/.exec(String(message))?.[1] ?? 'unknown'
  const table = /\b(?:INTO|UPDATE) `?([\w$]+)/.exec(String(sql))?.[1]
  const place = `the column ${column}${table === undefined ? '' : ` of the table ${table}`}`
  return [
    column === 'body' ? 'BODY_TOO_LARGE' : 'STATEMENT_FAILED',
    `${place} does not hold a value that Looseleaf stores in it, so the table was altered. Compare it with the output of \`looseleaf schema\`, and give the column its type back. Nothing was written.`,
  ]
}

/** Numbers of ENOSPC, and of EDQUOT on Linux. */
const FULL: ReadonlySet<string> = new Set(['28', '122'])

/** Returns the number of the operating system's error in a message, or an empty text. */
function osErrorOf(error: unknown): string {
  const { message } = error as { readonly message?: unknown }
  return /\b(?:Err(?:no|code)|Got error):? "?(\d+)/i.exec(String(message))?.[1] ?? ''
}

function meaningOf(error: unknown): ErrorMeaning {
  if (isOtherSession(error)) return ['STATEMENT_FAILED', otherSession(error.reason)]
  const number = serverNumber(error)
  if (number === 1290) return preventedBy(String((error as Error).message))
  if (number === 1226) return userLimit(String((error as Error).message))
  if (number !== undefined && COLUMN_MISFITS.has(number)) return misfitOf(error)
  if (number !== undefined && fileErrors.has(number) && FULL.has(osErrorOf(error))) return diskFull
  if (isRefusedFence(error)) return fenceRefused
  if (number === 1054 || number === 1176) return lackingOf(error, number === 1054 ? 'column' : 'key')
  if (number === 1142) return deniedOn(String((error as Error).message))
  if (number !== undefined) return errorNumbers[number] ?? unlisted(error, number)
  const { code } = (error ?? {}) as { code?: unknown }
  switch (code) {
    case 'ANSWERS_MISSING':
      return [
        'STATEMENT_FAILED',
        'the server, or a proxy before it, did not answer every statement of a packet. From now on they are sent one by one.',
        'unsure',
        'ends',
      ]
    case 'CONNECTION_GONE':
      return ['SHARD_UNAVAILABLE', 'the connection was lost; the statement was not sent.', 'down']
    case 'CALL_DEADLINE':
      return ['DEADLINE', 'the call was ended at its deadline.', 'unsure']
    case 'CALL_TOO_LATE':
      return ['DEADLINE', 'the call reached its deadline before the statement was sent.']
    case 'PACKET_TOO_LARGE':
      return [
        'BODY_TOO_LARGE',
        "the statement is larger than the server's max_allowed_packet; it was not sent.",
      ]
    case 'AUTH_SWITCH_PLUGIN_ERROR':
      return ['SHARD_DENIED', 'the server and this client have no authentication method in common.']
    case 'MYSQL_CLEAR_PASSWORD_NOT_ENABLED':
      return [
        'SHARD_DENIED',
        'the server asks for the password in clear text, which is sent with the option tls only.',
      ]
    default:
  }
  const failure = clientFailure(error)
  if (failure !== undefined) return ['STATEMENT_FAILED', failure.message, 'unsure', 'ends']
  if (typeof code === 'string' && unreachable.test(code)) {
    return ['SHARD_UNAVAILABLE', `the server cannot be reached (${code}).`, 'down']
  }
  if (typeof code === 'string' && tlsCode.test(code) && !brokeWithinTls(error)) {
    return ['SHARD_DENIED', tlsMessage(error, code)]
  }
  return ['SHARD_UNAVAILABLE', 'the connection was lost before the answer came.', 'unsure', 'ends', 'down']
}

/** Servers name the type in the messages of every language. */
function isRefusedFence(error: unknown): boolean {
  return serverNumber(error) === OVERFLOW && /\bDOUBLE\b/.test(String((error as Error).message))
}

/** Returns the meaning of a number that is not in `errorNumbers`. */
function unlisted(error: unknown, number: number): ErrorMeaning {
  const marks: ErrorMark[] = refusedOutright.has(number) ? [] : ['unsure']
  return ['STATEMENT_FAILED', `the server refused a statement (${causeOf(error).message}).`, ...marks]
}

/** Returns the error number of a server. Node's own numbers are negative. */
function serverNumber(error: unknown): number | undefined {
  const { errno } = (error ?? {}) as { errno?: unknown }
  return typeof errno === 'number' && errno > 0 ? errno : undefined
}

/** Tells whether the connection broke during the TLS handshake. mysql2 has one code for every error of a handshake. */
function brokeWithinTls(error: unknown): boolean {
  const { errno, message } = error as { errno?: unknown; message?: unknown }
  return typeof errno === 'number' || /socket disconnected before secure/.test(String(message))
}

function tlsMessage(error: unknown, code: string): string {
  const { cert, message } = error as { cert?: unknown; message?: unknown }
  if (code === 'HANDSHAKE_NO_SSL_SUPPORT') return 'the server offers no encryption, and tls is set.'
  if (cert !== undefined) return "the server's certificate is for another host name or address."
  if (/certificate|issuer/i.test(String(message))) return "the server's certificate is not trusted."
  return `the TLS handshake failed (${code}).`
}

/** Returns an error with the code and the number only: mysql2's errors contain the statement, and servers' messages values. */
function causeOf(error: unknown): Error {
  const failure = clientFailure(error)
  if (failure !== undefined) return failure.cause
  const { code, errno } = (error ?? {}) as { code?: unknown; errno?: unknown }
  const name = typeof code === 'string' && /^[A-Z][A-Z0-9_]*$/.test(code) ? code : 'no code'
  const number = typeof errno === 'number' ? errno : undefined
  return Object.assign(new Error(number === undefined ? name : `${name}, ${number}`), {
    code: name,
    errno: number,
  })
}
