import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { startServers } from '@looseleaf-tooling/mariadb'
import { checkIndex, cleanIndex, DataStore, mysqlShards, type CleanResult } from 'looseleaf'
import { createConnection } from 'mysql2/promise'
import { createCleanup } from '../servers/cleanup.ts'
import { serverArguments } from '../servers/mariadb.ts'
import { compareRows, type ComparedTable } from './compare-rows.ts'
import { forkPart } from './fork-part.ts'
import { alterJsonTables, fillJsonTables, firstHandle, type Altered } from './json-table.ts'
import type { FillerConfig, LoadConfig } from './load-types.ts'
import { addedIndexes, createPost, postId, postsByUser } from './posts.ts'
import { createLoad, type Latency } from './load-process.ts'

export interface LiveIndexSettings {
  readonly posts: number
  /** Calls a second of the load. */
  readonly rate: number
  /** Of load alone, before and after. */
  readonly seconds: number
  /** Pairs of posts that share a handle, which is to be unique. */
  readonly twins: number
  /** Until the part of a killed process is taken over, in milliseconds. Default: 30,000, which is the cleaner's. */
  readonly leaseMs?: number
}

export interface LiveIndexResult {
  readonly looseleaf: Phases & {
    readonly fillSeconds: number
    readonly kills: readonly string[]
    /** What the last of the processes that filled says of each index. */
    readonly filled: CleanResult['indexes']
    readonly violations: number
    /** Seconds from the resolved violations to three ready indexes. */
    readonly resolveSeconds: number
    readonly states: Readonly<Record<string, string>>
    readonly compared: Readonly<Record<string, ComparedTable>>
  }
  readonly alterTable: Phases & { readonly altered: readonly Altered[] }
}

interface Phases {
  readonly before: Latency
  readonly during: Latency
  readonly after: Latency
  readonly errors: Readonly<Record<string, number>>
}

const SHARDS = 2
const WRITERS = 512

export async function runLiveIndex(
  settings: LiveIndexSettings,
  tell: (what: string) => void,
): Promise<LiveIndexResult> {
  const cleanup = createCleanup()
  try {
    const servers = await startServers(SHARDS, { serverArguments })
    cleanup.add(() => servers.stop())
    const looseleaf = await runStore(await databasesOf(servers.urls, 'store_posts'), settings, tell)
    const alterTable = await runAlterTable(await databasesOf(servers.urls, 'json_posts'), settings, tell)
    return { looseleaf, alterTable }
  } finally {
    await cleanup.run()
  }
}

async function runStore(
  urls: readonly string[],
  settings: LiveIndexSettings,
  tell: (what: string) => void,
): Promise<LiveIndexResult['looseleaf']> {
  const store = await DataStore.open({ shards: mysqlShards(urls), indexes: [postsByUser], migrate: true })
  const load = createLoad(loadConfig('looseleaf', urls, settings))
  try {
    tell(`${settings.posts} posts into the store`)
    await putPosts(store, settings)
    await load.start()
    tell('the load alone')
    await sleep(settings.seconds * 1000)

    tell('three indexes are added and filled')
    const begin = Date.now()
    const filling: FillerConfig = { urls, leaseMs: settings.leaseMs ?? 30_000 }
    const kills: string[] = []
    // Into the reading of the entities, and once more when that is nearly done.
    for (const share of [0.3, 0.7]) kills.push(await fillUntil(filling, share, tell))
    const filled = await fill(filling)
    const end = Date.now()

    tell('the load alone again')
    await sleep(settings.seconds * 1000)
    const { between, errors } = await load.stop()

    tell('duplicates are resolved')
    const resolving = performance.now()
    const violations = await resolveViolations(store)
    const names = addedIndexes.map(({ name }) => name)
    await cleanIndex(store, names)
    const resolveSeconds = (performance.now() - resolving) / 1000
    const states = (await store.indexes()).map(
      ({ name, unique, state }) => [unique === true ? `${name}, claims` : name, state] as const,
    )
    tell('every row is compared')
    return {
      before: between(begin - settings.seconds * 1000, begin),
      during: between(begin, end),
      after: between(end, end + settings.seconds * 1000),
      errors,
      fillSeconds: (end - begin) / 1000,
      kills,
      filled,
      violations,
      resolveSeconds,
      states: Object.fromEntries(states),
      compared: await compareRows(urls),
    }
  } finally {
    load.kill()
    await store.close()
  }
}

async function runAlterTable(
  urls: readonly string[],
  settings: LiveIndexSettings,
  tell: (what: string) => void,
): Promise<LiveIndexResult['alterTable']> {
  tell(`${settings.posts} posts into a JSON column`)
  await fillJsonTables(urls, settings.posts, settings.twins)
  const load = createLoad(loadConfig('json', urls, settings))
  try {
    await load.start()
    tell('the load alone')
    await sleep(settings.seconds * 1000)
    tell('ALTER TABLE')
    const begin = Date.now()
    const altered = await alterJsonTables(urls)
    const end = Date.now()
    await sleep(settings.seconds * 1000)
    const { between, errors } = await load.stop()
    return {
      before: between(begin - settings.seconds * 1000, begin),
      during: between(begin, end),
      after: between(end, end + settings.seconds * 1000),
      errors,
      altered,
    }
  } finally {
    load.kill()
  }
}

async function putPosts(store: DataStore, { posts, twins }: LiveIndexSettings): Promise<void> {
  let number = 0
  await Promise.all(
    Array.from({ length: WRITERS }, async () => {
      while (number < posts) {
        const own = number++
        await store.insert(createPost(own, 0, firstHandle(own, posts, twins)), { id: postId(own) })
      }
    }),
  )
}

interface FillMessage {
  readonly phase?: string
  readonly shard?: number
  readonly done?: number
  readonly total?: number
  readonly result?: CleanResult
}

/** Fills until this share of the entities is read, and then is killed as by a crash. Answers where it was. */
async function fillUntil(config: FillerConfig, share: number, tell: (what: string) => void): Promise<string> {
  const filler = forkPart('filler.ts', config)
  const gone = once(filler, 'exit')
  let where = 'it had ended'
  filler.on('message', ({ phase, shard, done = 0, total = 1, result }: FillMessage) => {
    if (result !== undefined || where !== 'it had ended') return
    if (phase === 'entities' && done < share * total) return
    where = `${phase} of shard ${shard}, ${done} of ${total}`
    filler.kill('SIGKILL')
  })
  await gone
  tell(`killed: ${where}`)
  return where
}

async function fill(config: FillerConfig): Promise<CleanResult['indexes']> {
  const filler = forkPart('filler.ts', config)
  const gone = once(filler, 'exit')
  let ended: CleanResult | undefined
  filler.on('message', ({ result }: FillMessage) => (ended = result ?? ended))
  await gone
  if (ended === undefined) throw new Error('The process that fills the indexes ended without a result.')
  return ended.indexes
}

/** As a person would, one by one from the list that `looseleaf index violations` prints. */
async function resolveViolations(store: DataStore): Promise<number> {
  const entities: string[] = []
  await checkIndex(store, 'posts_by_handle', {
    onProblem: ({ kind, entity }) => void (kind === 'duplicate' && entities.push(entity)),
  })
  for (const entity of entities) {
    await store.update(entity, (bag) => ({ ...bag, handle: `${String(bag['handle'])}, again` }))
  }
  return entities.length
}

function loadConfig(
  side: LoadConfig['side'],
  urls: readonly string[],
  settings: LiveIndexSettings,
): LoadConfig {
  const { posts, twins, rate } = settings
  return { side, urls, posts, twins, rate, seed: 1 }
}

async function databasesOf(servers: readonly string[], name: string): Promise<string[]> {
  return Promise.all(
    servers.map(async (server) => {
      const connection = await createConnection({ uri: server })
      await connection.query(`CREATE DATABASE ${name}`)
      await connection.end()
      const url = new URL(server)
      url.pathname = `/${name}`
      return url.href
    }),
  )
}
