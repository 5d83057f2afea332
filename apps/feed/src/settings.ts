import { mkdirSync } from 'node:fs'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { shardsFrom, sqliteShards, type DriverFactory } from 'looseleaf'
import { messageOf } from './text/message-of.ts'

/** Root of the repository. The path is the same from `src` and from `dist`. */
const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
const SQLITE_SHARDS = 2

export interface Settings {
  /** Port to listen on; undefined for the first free one. */
  readonly port: number | undefined
  readonly host: string
  /** Public address of the site behind a proxy, such as `https://feed.example.org`. */
  readonly origin: string | undefined
  readonly shards: DriverFactory
  /** Location of the data for people, without credentials. */
  readonly place: string
  /** False if only other processes fetch the feeds. */
  readonly crawl: boolean
  /** Pairs of host and port that may be fetched although they are not on the public internet. */
  readonly crawlAllow: readonly string[]
  /** Time between two fetches of each source, in milliseconds; undefined for the interval of its schedule. */
  readonly crawlEveryMs: number | undefined
  readonly files: readonly string[]
  /** False if only other processes deliver entries to home pages. */
  readonly delivers: boolean
  /** True for a strip with live numbers above the pages of a site that only this machine can reach. */
  readonly hasStrip: boolean
  /** The name of the person for whom files are imported. */
  readonly as: string | undefined
}

/** Thrown for invalid arguments and environment variables. The message is for people. */
export class BadSetting extends Error {
  override readonly name = 'BadSetting'
}

const textOption = { type: 'string' } as const
const OPTIONS = {
  port: textOption,
  data: textOption,
  origin: textOption,
  as: textOption,
  help: { type: 'boolean', short: 'h' },
} as const

/** Tells whether a command line asks for the usage of its program. */
export function asksForHelp(args: readonly string[]): boolean {
  return parseArgs({ args: withoutDashes(args), options: OPTIONS, strict: false }).values.help === true
}

/** Reads settings from the command line, and from the environment for those that it lacks. Throws `BadSetting`. */
export function readSettings(args: readonly string[], env: NodeJS.ProcessEnv): Settings {
  const { values, positionals } = parse(args)
  const shards = env['LOOSELEAF_SHARDS']?.trim()
  // pnpm runs scripts in the package's folder; given paths are relative to the user's folder.
  const userFolder = env['INIT_CWD'] ?? process.cwd()
  const folder = resolve(userFolder, values.data ?? (env['LOOSELEAF_DATA']?.trim() || `${ROOT}.data/feed`))
  return {
    port: readPort(values.port ?? env['PORT']),
    host: env['HOST']?.trim() || '127.0.0.1',
    origin: readOrigin(values.origin ?? env['FEED_ORIGIN']),
    shards: values.data === undefined && shards ? shardsFrom(shards) : openFolder(folder),
    place: values.data === undefined && shards ? 'the databases of LOOSELEAF_SHARDS' : folder,
    crawl: isHere('FEED_CRAWL', env['FEED_CRAWL']),
    crawlAllow: readPlaces(env['FEED_CRAWL_ALLOW']),
    crawlEveryMs: readSeconds('FEED_CRAWL_EVERY', env['FEED_CRAWL_EVERY']),
    files: positionals.map((file) => resolve(userFolder, file)),
    delivers: isHere('FEED_DELIVER', env['FEED_DELIVER']),
    hasStrip: choose('FEED_STRIP', env['FEED_STRIP'], 'shown', 'hidden'),
    as: values.as,
  }
}

function parse(args: readonly string[]): {
  values: { port?: string; data?: string; origin?: string; as?: string }
  positionals: string[]
} {
  try {
    return parseArgs({ args: withoutDashes(args), options: OPTIONS, allowPositionals: true })
  } catch (error) {
    // Node's advice to write `--` first is wrong for the scripts, which leave it out.
    const [problem] = messageOf(error).split('. To specify a positional argument')
    throw new BadSetting(`${problem?.replace(/\.$/, '')}. See --help.`)
  }
}

/** Leaves out the `--` that npm and pnpm may pass on. */
function withoutDashes(args: readonly string[]): string[] {
  return args.filter((arg) => arg !== '--')
}

function readPort(text: string | undefined): number | undefined {
  if (text === undefined || text.trim() === '') return undefined
  const port = Number(text)
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new BadSetting(`A port is a number from 0 to 65535; got “${text.slice(0, 20)}”.`)
  }
  return port
}

function readOrigin(text: string | undefined): string | undefined {
  const trimmed = text?.trim()
  if (!trimmed) return undefined
  const url = URL.parse(trimmed)
  const isOrigin = /^https?:$/.test(url?.protocol ?? '') && url?.href === `${url?.origin}/`
  if (isOrigin) return url?.origin
  throw new BadSetting(
    `An origin is the beginning of an address, such as https://feed.example.org; got “${withoutPassword(trimmed).slice(0, 80)}”.`,
  )
}

/** Reads whether work that any process may do takes place in this one. */
function isHere(name: string, text: string | undefined): boolean {
  return choose(name, text, 'here', 'elsewhere')
}

/** Returns true for the first of two words, which is the default, and false for the other. */
function choose(name: string, text: string | undefined, first: string, other: string): boolean {
  const word = text?.trim() || first
  if (word === first || word === other) return word === first
  throw new BadSetting(`${name} is “${first}” or “${other}”; got “${word.slice(0, 20)}”.`)
}

/** Reads a time in seconds, and returns milliseconds. */
function readSeconds(name: string, text: string | undefined): number | undefined {
  const trimmed = text?.trim()
  if (!trimmed) return undefined
  const seconds = Number(trimmed)
  if (seconds >= 0.1 && seconds <= 86_400) return seconds * 1_000
  throw new BadSetting(`${name} is a number of seconds from 0.1 to 86400; got “${trimmed.slice(0, 20)}”.`)
}

function readPlaces(text: string | undefined): string[] {
  const places = (text ?? '').split(',').map((place) => place.trim())
  return places.filter(Boolean).map((place) => {
    const url = /^(?:\[[0-9a-f:.]+\]|[a-z0-9.-]+):\d{1,5}$/i.test(place) ? URL.parse(`ftp://${place}`) : null
    if (url !== null && url.port !== '') return url.host
    throw new BadSetting(
      `FEED_CRAWL_ALLOW is a list of hosts with ports, such as 127.0.0.1:8080,localhost:8081; got “${place.slice(0, 40)}”.`,
    )
  })
}

function withoutPassword(address: string): string {
  return address.replace(/\/\/[^/]*@/, '//')
}

function openFolder(folder: string): DriverFactory {
  try {
    mkdirSync(folder, { recursive: true })
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : ''
    throw new BadSetting(`The folder for the data cannot be created: ${folder}${code}.`)
  }
  return sqliteShards({ folder, shards: SQLITE_SHARDS })
}
