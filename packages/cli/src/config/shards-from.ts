import { resolve } from 'node:path'
import type { DriverFactory } from '@looseleaf/core'
import { badOption, checkOptions, optionKinds, type OptionKinds } from '@looseleaf/core/internal'
import { mysqlShards } from '@looseleaf/driver-mysql'
import { memoryShards, sqliteShards } from '@looseleaf/driver-sqlite'

export interface ShardsFromOptions {
  /** Base of a relative folder of SQLite files. Default: the working directory of the process. */
  readonly relativeTo?: string | undefined
  /** Creates a missing folder of SQLite files, like the option of `sqliteShards`. Default: true. */
  readonly create?: boolean | undefined
}

/** More than a machine needs; a mistyped number cannot open a million files. */
const MAX_LOCAL_SHARDS = 1024

const FORMS =
  'Shards are given as mysql://user:password@host:3306/database, with a comma between several; as sqlite:folder?shards=2; or as memory:2'

/**
 * Parses a text from a config file or an environment variable into shards: `mysql://…,mysql://…` (one URL per shard, in any
 * order), `sqlite:folder?shards=2` or `memory:2`. Without a number there is one shard. Does not connect.
 * Throws `BAD_OPTION`; the message never repeats the text, which may hold a password.
 */
export function shardsFrom(text: string, options: ShardsFromOptions = {}): DriverFactory {
  if (typeof text !== 'string') throw badOption(`${FORMS}; got something that is not a string.`)
  checkOptions('shardsFrom', options, kinds)
  const { relativeTo = process.cwd(), create = true } = options
  const trimmed = text.trim()
  const scheme = /^[a-z][a-z0-9+.-]*(?=:)/i.exec(trimmed)?.[0].toLowerCase()
  switch (scheme) {
    case 'mysql':
    case 'mariadb':
      return mysqlShards(splitUrls(trimmed))
    case 'sqlite':
      return fromFolder(trimmed.slice('sqlite:'.length), relativeTo, create)
    case 'memory':
      return memoryShards(parseCount(trimmed.slice('memory:'.length) || '1', 'memory:'))
    case undefined:
      throw badOption(`${FORMS}; got a text without a scheme.`)
    default:
      throw badOption(`${FORMS}; got a text with another scheme.`)
  }
}

const kinds: OptionKinds<ShardsFromOptions> = {
  relativeTo: { expected: 'the path of a folder', fits: (value) => typeof value === 'string' },
  create: optionKinds.flag,
}

/** Splits only at commas before a scheme, because a URL may contain commas. */
function splitUrls(text: string): string[] {
  const urls = text.split(/\s*,\s*(?=[a-z][a-z0-9+.-]*:\/\/)/i)
  for (const [number, url] of urls.entries()) {
    if (!/^(mysql|mariadb):\/\//i.test(url))
      throw badOption(`${FORMS}; number ${number} of the list is not such a URL.`)
    if (url.endsWith(',')) throw badOption(`${FORMS}; the list ends with a comma.`)
  }
  return urls
}

function fromFolder(text: string, relativeTo: string, create: boolean): DriverFactory {
  const mark = text.lastIndexOf('?')
  const folder = mark === -1 ? text : text.slice(0, mark)
  const parameters = new URLSearchParams(mark === -1 ? '' : text.slice(mark + 1))
  if (folder === '' || folder.startsWith('?')) {
    throw badOption('sqlite: needs the folder of its files, as in sqlite:folder?shards=2.')
  }
  // Read as a path, `//data` is a folder at the root of the machine.
  if (/^\/\/[^/]/.test(folder)) {
    throw badOption(
      'sqlite: takes a path without the slashes of a URL, as in sqlite:folder or sqlite:/path/of/folder.',
    )
  }
  if (/^~(\/|$)/.test(folder)) {
    throw badOption(
      'sqlite: takes a path, and no shell has replaced the ~ in this one: give the whole path, or sqlite:./~ for a folder of that name.',
    )
  }
  for (const name of parameters.keys()) {
    if (name !== 'shards')
      throw badOption('sqlite: takes one parameter, as in sqlite:folder?shards=2; got another one.')
  }
  return sqliteShards({
    folder: resolve(relativeTo, folder),
    create,
    shards: parseCount(parameters.get('shards') ?? '1', 'sqlite:folder?shards='),
  })
}

function parseCount(text: string, before: string): number {
  const count = /^\d{1,6}$/.test(text) ? Number(text) : 0
  if (count < 1 || count > MAX_LOCAL_SHARDS) {
    throw badOption(`${before} needs a number of shards from 1 to ${MAX_LOCAL_SHARDS} behind it.`)
  }
  return count
}
