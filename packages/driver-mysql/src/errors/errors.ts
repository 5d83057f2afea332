import { clientFailure, type Fault } from '@looseleaf/driver-kysely'
import {
  COLUMN_MISFITS,
  engineEnforced,
  errorNumbers,
  NOT_KNOWN,
  NOT_MARKED,
  NOT_PREPARED,
  OTHER_PACKET,
  OTHER_PARAMETERS,
  OTHER_SESSION,
  otherSession,
  refusedOutright,
  UNKNOWN_STATEMENT,
  type ErrorMark,
  type ErrorMeaning,
} from './error-numbers.ts'

/** What mysql2 and Node say when there is no server to talk to, so that nothing was sent. */
const unreachable =
  /^(EACCES|EADDRNOTAVAIL|EAI_[A-Z]+|ECONNREFUSED|EHOSTDOWN|EHOSTUNREACH|EMFILE|ENETDOWN|ENETUNREACH|ENOENT|ENOTFOUND)$/

const tlsCode = /^ERR_TLS|^ERR_O?SSL|CERT|^UNABLE_TO|HANDSHAKE_(NO_)?SSL/

/** Set on the errors that connections themselves make. */
export interface ClientError extends Error {
  readonly code:
    | 'CALL_DEADLINE'
    | 'CALL_TOO_LATE'
    | 'COMMIT_UNPROVEN'
    | 'CONNECTION_GONE'
    | 'PACKET_TOO_LARGE'
}

/** What is asked of a connection has come to another session than the one that was set up on it. */
export interface SessionError extends Error {
  readonly code: 'OTHER_SESSION'
  /** By what it was noticed, in words for `otherSession`. */
  readonly found: string
  /** Whether something was written that may be committed or not. */
  readonly unsure: boolean
}

export function clientError(code: ClientError['code']): ClientError {
  return Object.assign(new Error(code), { code })
}

export function sessionError(found: string, unsure: boolean): SessionError {
  const code = 'OTHER_SESSION'
  return Object.assign(new Error(code), { code, found, unsure } as const)
}

export function isOtherSession(error: unknown): error is SessionError {
  return (error as { code?: unknown } | undefined)?.code === 'OTHER_SESSION'
}

/** By what the refusal of a statement tells of another session than its connection's; undefined for all else. */
export function foundByRefusal(error: unknown): string | undefined {
  switch (serverNumber(error)) {
    case OTHER_SESSION:
      return NOT_MARKED
    case UNKNOWN_STATEMENT:
    case OTHER_PARAMETERS:
    case OTHER_PACKET:
      return NOT_KNOWN
    default:
      return undefined
  }
}

/**
 * What an error of mysql2 or of a server means. An error that is not the server's answer says that the answer is lost:
 * a read may be made again, and of a write nobody knows.
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

/** True for the refusal to prepare a statement, or to run one that is: nothing was done, and as text it may pass. */
export function refusesPrepared(error: unknown): boolean {
  return NOT_PREPARED.has(serverNumber(error) ?? 0)
}

/** True when there was no server to answer, or none that stays; false for every answer, whatever it says. */
export function saysDown(error: unknown): boolean {
  return meaningOf(error).includes('down')
}

/** True when nothing more can be asked on the connection: all but the answers that leave it as it was. */
export function endsConnection(error: unknown): boolean {
  const { fatal } = (error ?? {}) as { fatal?: unknown }
  return fatal === true || serverNumber(error) === undefined || meaningOf(error).includes('ends')
}

/** Of the table alone: the message has the user and the address too, which are nothing for logs. */
function deniedOn(message: string): ErrorMeaning {
  const found = /^([A-Z ,]+) command denied .* for table ([`'"])(?:[^`'"]+\2\.\2)?([^`'"]+)\2$/.exec(message)
  if (found === null) return errorNumbers[1142] as ErrorMeaning
  return ['SHARD_DENIED', `the user lacks the privilege ${found[1]} on the table ${found[3]}.`]
}

/** Names the column and the table alone: the message may have the value, and the statement has others. */
function misfitOf(error: unknown): ErrorMeaning {
  const { message, sql } = error as { readonly message?: unknown; readonly sql?: unknown }
  const column = /[`'".]([\w$]+)[`'"]? at row \d+$/.exec(String(message))?.[1] ?? 'unknown'
  const table = /\b(?:INTO|UPDATE) `?([\w$]+)/.exec(String(sql))?.[1]
  const where = `the column ${column}${table === undefined ? '' : ` of the table ${table}`}`
  return [
    column === 'body' ? 'BODY_TOO_LARGE' : 'STATEMENT_FAILED',
    `${where} does not hold a value that Looseleaf stores in it, so the table was altered. Compare it with the output of \`looseleaf schema\`, and give the column its type back. Nothing was written.`,
  ]
}

function meaningOf(error: unknown): ErrorMeaning {
  if (isOtherSession(error)) return ['STATEMENT_FAILED', otherSession(error.found)]
  const number = serverNumber(error)
  if (number === 1290 && /NO_ENGINE_SUBSTITUTION/.test(String((error as Error).message)))
    return engineEnforced
  if (number !== undefined && COLUMN_MISFITS.has(number)) return misfitOf(error)
  if (number === 1142) return deniedOn(String((error as Error).message))
  if (number !== undefined) return errorNumbers[number] ?? unlisted(error, number)
  const { code } = (error ?? {}) as { code?: unknown }
  switch (code) {
    case 'CONNECTION_GONE':
      return ['SHARD_UNAVAILABLE', 'the connection was lost; the statement was not sent.', 'down']
    case 'CALL_DEADLINE':
      return ['DEADLINE', 'the call took longer than its deadline, and was ended.', 'unsure']
    case 'CALL_TOO_LATE':
      return ['DEADLINE', 'the call took longer than its deadline; the statement was not sent.']
    case 'PACKET_TOO_LARGE':
      return [
        'BODY_TOO_LARGE',
        "the statement is larger than the server's max_allowed_packet; it was not sent.",
      ]
    case 'AUTH_SWITCH_PLUGIN_ERROR':
      return ['SHARD_DENIED', 'the server and this client have no authentication method in common.']
    case 'MYSQL_CLEAR_PASSWORD_NOT_ENABLED':
      return ['SHARD_DENIED', 'the server asks for the password in the clear, which it gets with tls only.']
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

/** A number that is not in the table. Unless it is known to come before anything is done, it says nothing of a write. */
function unlisted(error: unknown, number: number): ErrorMeaning {
  const marks: ErrorMark[] = refusedOutright.has(number) ? [] : ['unsure']
  return ['STATEMENT_FAILED', `the server refused a statement (${causeOf(error).message}).`, ...marks]
}

/** The number in an answer of the server; Node's own are negative. */
function serverNumber(error: unknown): number | undefined {
  const { errno } = (error ?? {}) as { errno?: unknown }
  return typeof errno === 'number' && errno > 0 ? errno : undefined
}

/** mysql2 gives every error of a TLS handshake one code of its own, a connection that broke meanwhile included. */
function brokeWithinTls(error: unknown): boolean {
  const { errno, message } = error as { errno?: unknown; message?: unknown }
  return typeof errno === 'number' || /socket disconnected before secure/.test(String(message))
}

function tlsMessage(error: unknown, code: string): string {
  const { cert, message } = error as { cert?: unknown; message?: unknown }
  if (code === 'HANDSHAKE_NO_SSL_SUPPORT') return 'the server offers no encryption, and tls is set.'
  if (cert !== undefined) return "the server's certificate is for another host name or address."
  if (/certificate|issuer/i.test(String(message))) return "the server's certificate is not to be trusted."
  return `no connection by TLS could be made (${code}).`
}

/** The client's errors carry the whole statement, and the server's messages carry values: names and numbers remain. */
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
