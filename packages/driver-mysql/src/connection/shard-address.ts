import { createSecureContext } from 'node:tls'
import type { LooseleafError } from '@looseleaf/core'
import { badOption, describeArgument, describeKind } from '@looseleaf/core/internal'

/** Certificates of connections. The server's certificate and name are always verified. */
export interface MysqlTlsOptions {
  /** Certificates of authorities, as PEM. Default: those of Node. */
  readonly ca?: string | Buffer | undefined
  /** Certificate and `key` of this client, as PEM. */
  readonly cert?: string | Buffer | undefined
  readonly key?: string | Buffer | undefined
}

export interface MysqlShardOptions {
  /** Default: `127.0.0.1`. */
  readonly host?: string | undefined
  /** Default: 3306. */
  readonly port?: number | undefined
  /** Unix socket, instead of host and port. */
  readonly socketPath?: string | undefined
  /** Default: `root`. */
  readonly user?: string | undefined
  /**
   * Password, or a function that returns it, for passwords that expire, such as the tokens of AWS RDS IAM. The function is called
   * for each new connection, and has `connectTimeoutMs` to return. Default: empty.
   */
  readonly password?: string | (() => string | Promise<string>) | undefined
  /** Name of an existing database. */
  readonly database: string
  /** Overrides the option `tls` of all shards. */
  readonly tls?: boolean | MysqlTlsOptions | undefined
}

/** Checked address of a server. */
export interface ShardAddress {
  /** Name for messages: host or socket, port, and database. Equal for equal spellings of one database. */
  readonly name: string
  readonly host: string
  readonly port: number
  readonly socketPath: string | undefined
  readonly user: string
  /** Returns the password, unchecked if it is the user's function. It is a function so that no inspection prints the password. */
  readonly password: () => unknown
  readonly database: string
  /** One object for all connections, since mysql2 caches the parsed certificates by object. */
  readonly tls: VerifiedTls | undefined
}

export interface VerifiedTls {
  readonly ca?: string | Buffer
  readonly cert?: string | Buffer
  readonly key?: string | Buffer
  readonly verifyIdentity: true
  readonly rejectUnauthorized: true
}

export type Tls = boolean | MysqlTlsOptions | undefined

/**
 * Checks the URL or the options of a server. Throws `BAD_OPTION`. The message begins with `subject`, such as `MySQL shard 0`, and
 * never contains the URL.
 */
export function parseShardAddress(shard: unknown, subject: string, tls: Tls): ShardAddress {
  if (typeof shard === 'string') return parseUrl(shard, subject, tls)
  if (typeof shard === 'object' && shard !== null)
    return parseOptions(shard as MysqlShardOptions, subject, tls)
  throw refuse(
    subject,
    `has to be a URL such as mysql://user@host:3306/database, or options; got ${describeKind(shard)}`,
  )
}

export const MAX_PORT = 65_535

/** Hint for every error of a URL: a reserved character in a password moves the borders of all other parts. */
const ENCODE = 'write # / ? @ and % within a user or a password as %23 %2F %3F %40 and %25'

/**
 * The port of a URL with a user. Without a user, or with an @ behind the host, the digits may be those of a password, which no message may have.
 */
const PORT = /^\s*(?:mysql|mariadb):\/\/[^/?#]*@(?:\[[^\]@/?#]*\]|[^:@/?#[\]]+):(\d{5,10})(?:[/?#][^@]*)?$/i

function parseUrl(text: string, subject: string, tls: Tls): ShardAddress {
  const url = URL.parse(text)
  if (url === null) {
    const port = PORT.exec(text)?.[1]
    if (port !== undefined && Number(port) > MAX_PORT) throw badPort(subject, port)
    throw refuse(subject, `is not a URL such as mysql://user@host:3306/database; ${ENCODE}`)
  }
  // With one slash the user and the password would become part of the database's name, which messages contain.
  if (!/^\s*(mysql|mariadb):\/\//i.test(text)) {
    throw refuse(subject, 'has to begin with mysql:// or mariadb://')
  }
  if (url.hash !== '') throw refuse(subject, `has a #; ${ENCODE}`)
  const path = /^\/([^/]+)$/.exec(url.pathname)
  if (path === null) {
    throw refuse(subject, `has to name one database after the host, such as /feed; ${ENCODE}`)
  }
  const host = decode(url.hostname, subject, 'host').replace(/^\[(.*)\]$/, '$1')
  return parseOptions(
    {
      host: host === '' ? undefined : host,
      port: url.port === '' ? undefined : Number(url.port),
      user: url.username === '' ? undefined : decode(url.username, subject, 'user'),
      password: decode(url.password, subject, 'password'),
      database: decode(path[1] as string, subject, 'database'),
      tls: tlsParameter(url.searchParams, subject),
    },
    subject,
    tls,
  )
}

/** Reads the parameters after the `?`. The error does not contain them: a URL with a wrong `?` may have part of the password there. */
function tlsParameter(parameters: URLSearchParams, subject: string): boolean | undefined {
  const [first, another] = parameters
  if (first === undefined) return undefined
  const [name, value] = first
  if (name === 'tls' && (value === 'true' || value === 'false') && another === undefined)
    return value === 'true'
  throw refuse(
    subject,
    'may have ?tls=true or ?tls=false after the database, and nothing else; it has another parameter. Give other settings as options',
  )
}

const optionNames = ['host', 'port', 'socketPath', 'user', 'password', 'database', 'tls']

function parseOptions(options: MysqlShardOptions, subject: string, tls: Tls): ShardAddress {
  refuseOthers(subject, options, optionNames)
  const { host = '127.0.0.1', port = 3306, user = 'root', password = '', database, socketPath } = options
  checkText(host, 'host', 255, subject)
  checkText(user, 'user', 128, subject)
  checkText(database, 'database', 64, subject)
  if (socketPath !== undefined) checkText(socketPath, 'socketPath', 255, subject)
  if (typeof password !== 'string' && typeof password !== 'function') {
    throw refuse(
      subject,
      `has to have a password that is a string or a function that gives one; got ${describeKind(password)}`,
    )
  }
  if (!Number.isInteger(port) || port < 1 || port > MAX_PORT) {
    throw badPort(subject, describeArgument(port))
  }
  // Host names ignore case; names of sockets and databases may not.
  const lowerHost = host.toLowerCase()
  return {
    name: `${socketPath ?? `${lowerHost.includes(':') ? `[${lowerHost}]` : lowerHost}:${port}`}/${database}`,
    host: lowerHost,
    port,
    socketPath,
    user,
    password: typeof password === 'string' ? () => password : password,
    database,
    tls: tlsOf(options.tls ?? tls, subject),
  }
}

const verified: VerifiedTls = { verifyIdentity: true, rejectUnauthorized: true }

function tlsOf(tls: Tls, subject: string): ShardAddress['tls'] {
  if (tls === undefined || tls === false) return undefined
  if (tls === true) return verified
  if (typeof tls !== 'object' || tls === null || Array.isArray(tls)) {
    throw refuse(subject, `has tls that is ${describeKind(tls)}`)
  }
  refuseOthers(subject, tls, ['ca', 'cert', 'key'], ' under tls')
  const { ca, cert, key } = tls
  for (const [name, pem] of Object.entries({ ca, cert, key })) {
    if (pem === undefined || typeof pem === 'string' || Buffer.isBuffer(pem)) continue
    throw refuse(
      subject,
      `has to have PEM for ${name} under tls, as a string or a Buffer; got ${describeKind(pem)}`,
    )
  }
  const given = {
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
  }
  try {
    createSecureContext(given)
  } catch {
    throw refuse(subject, 'has a cert and a key under tls that are not PEM, or do not belong together')
  }
  return { ...verified, ...given }
}

function checkText(value: unknown, name: string, maxLength: number, subject: string): void {
  if (typeof value === 'string' && value !== '' && value.length <= maxLength && !value.includes('\0')) return
  throw refuse(subject, `has to have a ${name} of 1 to ${maxLength} characters; got ${describeKind(value)}`)
}

function decode(text: string, subject: string, part: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw refuse(
      subject,
      `has a ${part} in which a % is not followed by two hexadecimal digits; write % as %25`,
    )
  }
}

/** Throws `BAD_OPTION` for an option with another name. */
export function refuseOthers(subject: string, options: object, names: readonly string[], place = ''): void {
  const other = Object.keys(options).find((name) => !names.includes(name))
  if (other === undefined) return
  const shown = JSON.stringify(other.slice(0, 40))
  throw refuse(subject, `has no option ${shown}${place}; there are ${names.join(', ')}`)
}

export function badPort(subject: string, received: string): LooseleafError {
  return refuse(subject, `has a port that is not a whole number from 1 to ${MAX_PORT} but ${received}`)
}

export function refuse(subject: string, predicate: string): LooseleafError {
  return badOption(`${subject} ${predicate}.`)
}
