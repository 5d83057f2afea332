import { describeKind, shorten } from '@looseleaf/core/internal'
import {
  badPort,
  MAX_PORT,
  refuse,
  type MysqlShardOptions,
  type ShardAddress,
  type Tls,
} from './shard-address.ts'
import { parseShardServers, type ReplicatedMysqlShard, type ShardServers } from './shard-servers.ts'

/** The options that decide how a shard is reached whose address alone is known. */
export interface ServersAtOptions {
  readonly tls?: Tls
  readonly connection?: ((address: string) => string | MysqlShardOptions | ReplicatedMysqlShard) | undefined
}

/**
 * Returns the servers of a shard that was not given at the start. An address such as `host:3306/feed` has no credentials: they come from
 * `connection`, else from `first`. A URL or options have their own. Throws `BAD_OPTION`, without the URL or anything of the options.
 */
export function serversAt(
  shard: string | object,
  first: ShardAddress,
  { tls, connection }: ServersAtOptions,
): ShardServers {
  if (!isPlainAddress(shard)) return parseShardServers(shard, 'The MySQL shard', tls)
  const address = parseAddress(shard)
  if (connection === undefined) return { primary: { ...first, ...address }, replicas: [] }
  const subject = `The connection of MySQL shard ${address.name}`
  const { primary, replicas } = parseShardServers(callConnection(connection, address.name), subject, tls)
  // Messages and the layout name the shard by its address, also if a proxy leads to it.
  return { primary: { ...primary, name: address.name }, replicas }
}

/** Tells whether this is an address without credentials, and not a URL or options. */
export function isPlainAddress(shard: string | object): shard is string {
  return typeof shard === 'string' && !shard.includes('://')
}

function callConnection(
  connection: NonNullable<ServersAtOptions['connection']>,
  name: string,
): string | object {
  let returned: unknown
  try {
    returned = connection(name)
  } catch (error) {
    // The error may have credentials in its message.
    throw refuse(`connection of mysqlShards`, `threw ${describeKind(error)} for the shard ${name}`)
  }
  if (typeof returned === 'string' || (typeof returned === 'object' && returned !== null)) return returned
  throw refuse(
    'connection of mysqlShards',
    `has to return a URL or options for the shard ${name}; got ${describeKind(returned)}`,
  )
}

/** Parses `host:port/database`, `[::1]:port/database` or `/socket:port/database`. The port may be left out after a host. */
function parseAddress(
  text: string,
): Pick<ShardAddress, 'name' | 'host' | 'port' | 'socketPath' | 'database'> {
  const subject = 'The address of a MySQL shard'
  const socket = /^(\/[^:]*):(\d{1,10})\/(.+)$/s.exec(text)
  const server = /^(\[[^\]/@]+\]|[^:/@[\]]+)(?::(\d{1,10}))?\/([^/]+)$/.exec(text)
  const [, place, port = '3306', database] = socket ?? server ?? []
  const isPort = Number(port) >= 1 && Number(port) <= MAX_PORT
  // With an @ behind it, the number may be a password.
  const mayBePassword = !isPort && text.includes('@')
  if (place === undefined || database === undefined || database.length > 64 || mayBePassword) {
    throw refuse(
      subject,
      `has to be host:port/database, such as db3:3306/feed, or a URL such as mysql://user@host:3306/database; got ${received(text)}`,
    )
  }
  if (!isPort) throw badPort(subject, port)
  const host = place.toLowerCase()
  return {
    name: `${socket === null ? host : place}:${Number(port)}/${database}`,
    host: socket === null ? host.replace(/^\[(.*)\]$/, '$1') : '127.0.0.1',
    port: Number(port),
    socketPath: socket === null ? undefined : place,
    database,
  }
}

/** Shows a text that is no address, unless a part of it may be a password. */
function received(text: string): string {
  const isPlain = /^(?:[\w.-]*|\[[\da-f:]*\])(?::\d*)?(?:\/[\w.-]*)?$/i.test(text)
  return isPlain ? JSON.stringify(shorten(text, 80)) : 'a text that may have a password'
}
