import { createSecureContext } from 'node:tls'
import { LooseleafError, describeKind } from '@looseleaf/core'

/** How a connection proves who the server is. The server's certificate and name are always verified. */
export interface MysqlTlsOptions {
  /** Certificates of authorities, PEM; those of Node by default. */
  readonly ca?: string | Buffer | undefined
  /** This client's certificate and key, PEM. */
  readonly cert?: string | Buffer | undefined
  readonly key?: string | Buffer | undefined
}

export interface MysqlShardOptions {
  /** `127.0.0.1` by default. */
  readonly host?: string | undefined
  /** 3306 by default. */
  readonly port?: number | undefined
  /** A Unix socket, instead of host and port. */
  readonly socketPath?: string | undefined
  /** `root` by default. */
  readonly user?: string | undefined
  /**
   * The password, or a function that gives it, asked for every new connection: for passwords that expire, such as the tokens of AWS
   * RDS IAM. It has `connectTimeoutMs` for itself.
   */
  readonly password?: string | (() => string | Promise<string>) | undefined
  /** Has to exist. */
  readonly database: string
  /** Overrides the option of this name that stands for all shards. */
  readonly tls?: boolean | MysqlTlsOptions | undefined
}

/** Where a shard is, checked. */
export interface ShardAddress {
  /** For people: host, port and database. One for each database, as far as its spelling tells. */
  readonly name: string
  readonly host: string
  readonly port: number
  readonly socketPath: string | undefined
  readonly user: string
  /** Gives the password; a function, so that no inspection prints it. What a user's own function gives is not checked yet. */
  readonly password: () => unknown
  readonly database: string
  /** One object for all connections, because mysql2 keeps what it has made of the certificates by it. */
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

/** Checks one server's URL or options. Throws `BAD_OPTION`; the message says `who` it is, such as `MySQL shard 0`, and never repeats the URL. */
export function parseShardAddress(shard: unknown, who: string, tls: Tls): ShardAddress {
  if (typeof shard === 'string') return parseUrl(shard, who, tls)
  if (typeof shard === 'object' && shard !== null) return parseOptions(shard as MysqlShardOptions, who, tls)
  throw refuse(
    who,
    `has to be a URL such as mysql://user@host:3306/database, or options; got ${describeKind(shard)}`,
  )
}

/** A reserved character in a password cuts a URL elsewhere, so the error may be about any of its parts. */
const ENCODE = 'write # / ? @ and % within a user or a password as %23 %2F %3F %40 and %25'

function parseUrl(text: string, who: string, tls: Tls): ShardAddress {
  const url = URL.parse(text)
  if (url === null) throw refuse(who, `is not a URL such as mysql://user@host:3306/database; ${ENCODE}`)
  // With one slash, user and password would be taken for the name of the database, and be seen.
  if (!/^\s*(mysql|mariadb):\/\//i.test(text)) {
    throw refuse(who, 'has to begin with mysql:// or mariadb://')
  }
  if (url.hash !== '') throw refuse(who, `has a #; ${ENCODE}`)
  const path = /^\/([^/]+)$/.exec(url.pathname)
  if (path === null) {
    throw refuse(who, `has to name one database after the host, such as /feed; ${ENCODE}`)
  }
  const host = decode(url.hostname, who, 'host').replace(/^\[(.*)\]$/, '$1')
  return parseOptions(
    {
      host: host === '' ? undefined : host,
      port: url.port === '' ? undefined : Number(url.port),
      user: url.username === '' ? undefined : decode(url.username, who, 'user'),
      password: decode(url.password, who, 'password'),
      database: decode(path[1] as string, who, 'database'),
      tls: tlsParameter(url.searchParams, who),
    },
    who,
    tls,
  )
}

/** What stands after the ?, which may hold a secret by mistake and is not repeated. */
function tlsParameter(parameters: URLSearchParams, who: string): boolean | undefined {
  const [first, another] = parameters
  if (first === undefined) return undefined
  const [name, value] = first
  if (name === 'tls' && (value === 'true' || value === 'false') && another === undefined)
    return value === 'true'
  throw refuse(
    who,
    'may have ?tls=true or ?tls=false after the database, and nothing else; it has another parameter. Give other settings as options',
  )
}

const optionNames = new Set(['host', 'port', 'socketPath', 'user', 'password', 'database', 'tls'])

function parseOptions(options: MysqlShardOptions, who: string, tls: Tls): ShardAddress {
  for (const name of Object.keys(options)) {
    if (!optionNames.has(name)) {
      throw refuse(
        who,
        `has no option ${JSON.stringify(name.slice(0, 40))}; there are ${[...optionNames].join(', ')}`,
      )
    }
  }
  const { host = '127.0.0.1', port = 3306, user = 'root', password = '', database, socketPath } = options
  checkText(host, 'host', 255, who)
  checkText(user, 'user', 128, who)
  checkText(database, 'database', 64, who)
  if (socketPath !== undefined) checkText(socketPath, 'socketPath', 255, who)
  if (typeof password !== 'string' && typeof password !== 'function') {
    throw refuse(
      who,
      `has to have a password that is a string or a function that gives one; got ${describeKind(password)}`,
    )
  }
  if (!Number.isInteger(port) || port < 1 || port > 65_535) {
    throw refuse(who, `has a port that is not a whole number from 1 to 65535 but ${describeKind(port)}`)
  }
  // Names of hosts are the same in either case; those of sockets and databases need not be.
  const lowerHost = host.toLowerCase()
  return {
    name: `${socketPath ?? `${lowerHost.includes(':') ? `[${lowerHost}]` : lowerHost}:${port}`}/${database}`,
    host: lowerHost,
    port,
    socketPath,
    user,
    password: typeof password === 'string' ? () => password : password,
    database,
    tls: tlsOf(options.tls ?? tls, who),
  }
}

const verified: VerifiedTls = { verifyIdentity: true, rejectUnauthorized: true }

function tlsOf(tls: Tls, who: string): ShardAddress['tls'] {
  if (tls === undefined || tls === false) return undefined
  if (tls === true) return verified
  if (typeof tls !== 'object' || tls === null || Array.isArray(tls)) {
    throw refuse(who, `has tls that is ${describeKind(tls)}`)
  }
  const { ca, cert, key, ...others } = tls
  const other = Object.keys(others)[0]
  if (other !== undefined) {
    throw refuse(
      who,
      `has no option ${JSON.stringify(other.slice(0, 40))} under tls; there are ca, cert, key`,
    )
  }
  for (const [name, pem] of Object.entries({ ca, cert, key })) {
    if (pem === undefined || typeof pem === 'string' || Buffer.isBuffer(pem)) continue
    throw refuse(
      who,
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
    throw refuse(who, 'has a cert and a key under tls that are not PEM, or do not belong together')
  }
  return { ...verified, ...given }
}

function checkText(value: unknown, name: string, longest: number, who: string): void {
  if (typeof value === 'string' && value !== '' && value.length <= longest && !value.includes('\0')) return
  throw refuse(who, `has to have a ${name} of 1 to ${longest} characters; got ${describeKind(value)}`)
}

function decode(text: string, who: string, part: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw refuse(who, `has a ${part} in which a % is not followed by two hexadecimal digits; write % as %25`)
  }
}

export function refuse(who: string, what: string): LooseleafError {
  return new LooseleafError('BAD_OPTION', `${who} ${what}.`)
}
