import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { startServers } from '@looseleaf-tooling/mariadb'
import { checkIndex, cleanIndex, DataStore, mysqlShards, type CleanResult } from 'looseleaf'
import { createConnection } from 'mysql2/promise'
import { createCleanup } from '../servers/cleanup.ts'
import { serverArguments } from '../servers/mariadb.ts'
import { compareRows, type ComparedTable } from './compare-rows.ts'
import { forkProgram } from './fork-program.ts'
import { alterJsonTables, fillJsonTables, firstHandle, type Altered } from './json-table.ts'
import type { FillerConfig, LoadConfig } from './load-types.ts'
import { addedIndexes, createPost, postId, postsByUser } from './posts.ts'
import { createLoad, type Latency } from './load-process.ts'

export interface LiveIndexSettings {
  readonly posts: number
  /** Calls a second of the load. */
  readonly rate: number
  /** Seconds of load alone, once before the filling and once after it. */
  readonly seconds: number
  /** Pairs of posts that share a handle, against the unique index. */
  readonly twins: number
  /** Milliseconds until another process takes over the part of a killed one. Default: 30,000, as for the cleaner. */
  readonly leaseMs?: number
}

export interface LiveIndexResult {
  readonly looseleaf: Phases & {
    readonly fillSeconds: number
    readonly kills: readonly string[]
    /** Result of the last filling process for each index. */
    readonly filled: CleanResult['indexes']
    readonly violations: number
    /** Seconds to resolve the violations and to get all indexes ready. */
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
  onStep: (step: string) => void,
): Promise<LiveIndexResult> {
  const cleanup = createCleanup()
  try {
    const servers = await startServers(SHARDS, { serverArguments })
    cleanup.add(() => servers.stop())
    const looseleaf = await runStore(await databasesOf(servers.urls, 'store_posts'), settings, onStep)
    const alterTable = await runAlterTable(await databasesOf(servers.urls, 'json_posts'), settings, onStep)
    return { looseleaf, alterTable }
  } finally {
    await cleanup.run()
  }
}

type OnStep = (step: string) => void

/** Does work under a load, which also runs alone before and after the work. */
async function underLoad<T>(
  side: LoadConfig['side'],
  urls: readonly string[],
  { posts, twins, rate, seconds }: LiveIndexSettings,
  onStep: OnStep,
  work: () => Promise<T>,
): Promise<{ readonly phases: Phases; readonly seconds: number; readonly result: T }> {
  const load = createLoad({ side, urls, posts, twins, rate, seed: 1 })
  try {
    await load.start()
    onStep('the load alone')
    await sleep(seconds * 1000)
    const begin = Date.now()
    const result = await work()
    const end = Date.now()
    onStep('the load alone again')
    await sleep(seconds * 1000)
    const { between, errors } = await load.stop()
    const phases = {
      before: between(begin - seconds * 1000, begin),
      during: between(begin, end),
      after: between(end, end + seconds * 1000),
      errors,
    }
    return { phases, seconds: (end - begin) / 1000, result }
  } finally {
    load.kill()
  }
}

async function runStore(
  urls: readonly string[],
  settings: LiveIndexSettings,
  onStep: OnStep,
): Promise<LiveIndexResult['looseleaf']> {
  const store = await DataStore.open({ shards: mysqlShards(urls), indexes: [postsByUser], migrate: true })
  try {
    onStep(`${settings.posts} posts into the store`)
    await putPosts(store, settings)
    const { phases, seconds, result } = await underLoad('looseleaf', urls, settings, onStep, async () => {
      onStep('three indexes are added and filled')
      const filling: FillerConfig = { urls, leaseMs: settings.leaseMs ?? 30_000 }
      const kills: string[] = []
      // One kill early in the entity phase, and one late in it.
      for (const share of [0.3, 0.7]) kills.push(await fillUntil(filling, share, onStep))
      return { kills, filled: await fill(filling) }
    })

    onStep('duplicates are resolved')
    const resolving = performance.now()
    const violations = await resolveViolations(store)
    const names = addedIndexes.map(({ name }) => name)
    await cleanIndex(store, names)
    const resolveSeconds = (performance.now() - resolving) / 1000
    const states = (await store.indexes()).map(
      ({ name, unique, state }) => [unique === true ? `${name}, claims` : name, state] as const,
    )
    onStep('every row is compared')
    return {
      ...phases,
      fillSeconds: seconds,
      ...result,
      violations,
      resolveSeconds,
      states: Object.fromEntries(states),
      compared: await compareRows(urls),
    }
  } finally {
    await store.close()
  }
}

async function runAlterTable(
  urls: readonly string[],
  settings: LiveIndexSettings,
  onStep: OnStep,
): Promise<LiveIndexResult['alterTable']> {
  onStep(`${settings.posts} posts into a JSON column`)
  await fillJsonTables(urls, settings.posts, settings.twins)
  const { phases, result } = await underLoad('json', urls, settings, onStep, () => {
    onStep('ALTER TABLE')
    return alterJsonTables(urls)
  })
  return { ...phases, altered: result }
}

async function putPosts(store: DataStore, { posts, twins }: LiveIndexSettings): Promise<void> {
  let number = 0
  await Promise.all(
    Array.from({ length: WRITERS }, async () => {
      while (number < posts) {
        const post = number++
        await store.insert(createPost(post, 0, firstHandle(post, posts, twins)), { id: postId(post) })
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

/** Kills a filling process once it has read this share of the entities of a shard. Returns the progress at that moment. */
async function fillUntil(
  config: FillerConfig,
  share: number,
  onStep: (step: string) => void,
): Promise<string> {
  const filler = forkProgram('filler.ts', config)
  const exited = once(filler, 'exit')
  let progress = 'it had ended'
  filler.on('message', ({ phase, shard, done = 0, total = 1, result }: FillMessage) => {
    if (result !== undefined || progress !== 'it had ended') return
    if (phase === 'entities' && done < share * total) return
    progress = `${phase} of shard ${shard}, ${done} of ${total}`
    filler.kill('SIGKILL')
  })
  await exited
  onStep(`killed: ${progress}`)
  return progress
}

async function fill(config: FillerConfig): Promise<CleanResult['indexes']> {
  const filler = forkProgram('filler.ts', config)
  const exited = once(filler, 'exit')
  let cleaned: CleanResult | undefined
  filler.on('message', ({ result }: FillMessage) => (cleaned = result ?? cleaned))
  await exited
  if (cleaned === undefined) throw new Error('The process that fills the indexes ended without a result.')
  return cleaned.indexes
}

/** Gives each duplicate a new handle, one by one, as a person would after `looseleaf index violations`. Returns their number. */
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
