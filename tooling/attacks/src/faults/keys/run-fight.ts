import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { sweep } from '@looseleaf/cleaner'
import { formatId } from '@looseleaf/core'
import { deriveClaims, keyIdentity, tableName, tableSpec } from '@looseleaf/index-engine/internal'
import type { DataStore } from '@looseleaf/store'
import { checkIndexes } from '../../lab/check-indexes.ts'
import { openStore } from '../../lab/open-store.ts'
import { createProcesses } from '../../lab/processes.ts'
import { moment } from '../../lab/records.ts'
import { createRandom } from '@looseleaf-tooling/kit/random'
import { openTables, type Tables } from '../watch/tables.ts'
import { checkFight, type FightResult } from './check-fight.ts'
import type { FightRecord, FightSight } from './fight-records.ts'
import type { FighterConfig } from './fighter.ts'
import type { KeyFlaw } from './flawed-keys.ts'
import { byName } from './names.ts'

export interface FightOptions {
  /** One empty database per shard, for the processes of the fight. */
  readonly urls: readonly string[]
  /** The same databases, for the watcher. Default: `urls`. */
  readonly adminUrls?: (() => readonly string[]) | undefined
  readonly seed: number
  readonly seconds: number
  readonly processes: number
  readonly entities: number
  readonly keys: number
  readonly flaw?: KeyFlaw | undefined
}

export interface Fight extends FightResult {
  readonly kills: number
  readonly stops: number
  /** How often the watcher read all entities. */
  readonly looks: number
}

const CLEANER_GRACE_MS = 1_000
/** Longer than writers wait for each other before they take over a key. */
const LONGEST_STOP_MS = 900
const LOOK_EVERY_MS = 10
/** A process that needs longer for its last calls counts as hanging. */
const END_MS = 60_000

/**
 * Runs processes whose entities take, give up and take over a few keys while some processes are killed and
 * others stopped. Compares every answer with the tables during the fight, and with the claims at its end.
 */
export async function runFight(options: FightOptions): Promise<Fight> {
  const { urls, adminUrls = (): readonly string[] => urls, seed, flaw } = options
  const folder = await mkdtemp(join(tmpdir(), 'looseleaf-fight-'))
  const random = createRandom(seed)
  const store = await openStore(adminUrls(), { indexes: [byName], migrate: true })
  const ids = Array.from({ length: options.entities }, () => store.newId())
  const keys = Array.from({ length: options.keys }, (_, n) => `key ${n}`)
  const program = new URL('./fighter.ts', import.meta.url)
  const fighters = await createProcesses<FighterConfig, FightRecord>(program, folder, {
    seed,
    urls,
    ids,
    keys,
    flaw,
  })
  const watcher = createWatcher(openTables(adminUrls))
  let [kills, stops] = [0, 0]
  try {
    fighters.start({ cleanerGraceMs: CLEANER_GRACE_MS })
    while (fighters.all.length < options.processes) fighters.start()
    await Promise.allSettled(fighters.all.map(({ ready }) => ready))
    const looking = watcher.run()
    const until = performance.now() + options.seconds * 1000
    while (performance.now() < until) {
      await sleep(random.below(200))
      // The first process runs the cleaner and stays.
      const victims = fighters.all.slice(1).filter(({ isGone }) => !isGone)
      if (victims.length === 0) break
      const victim = random.pick(victims)
      if (random.chance(0.15)) {
        kills++
        victim.signal('SIGKILL')
        await fighters.start().ready.catch(() => undefined)
      } else {
        stops++
        victim.signal('SIGSTOP')
        await sleep(random.below(LONGEST_STOP_MS))
        victim.signal('SIGCONT')
      }
    }
    for (const fighter of fighters.all) fighter.stop()
    const { histories, hanging } = await fighters.end(END_MS)
    await sleep(4 * LOOK_EVERY_MS)
    watcher.stop()
    await looking
    const { counts, wrongs } = checkFight(
      histories.flatMap(({ records }) => records),
      watcher.sights(),
    )
    const failed = fighters.all.filter(({ hasFailed }) => hasFailed).length
    return {
      counts,
      kills,
      stops,
      looks: watcher.looks(),
      wrongs: [
        ...wrongs,
        ...(hanging + failed > 0 ? [`${hanging} processes hang, ${failed} ended with an error`] : []),
        ...(await wrongInTheEnd(store)),
      ],
    }
  } finally {
    watcher.stop()
    await fighters.kill()
    await store.close()
    await rm(folder, { recursive: true, force: true })
  }
}

interface Watcher {
  sights(): readonly FightSight[]
  looks(): number
  /** Reads all entities repeatedly until it is stopped. */
  run(): Promise<void>
  stop(): void
}

/** Reads the tables of all shards directly. Versions tell which sights are consistent. */
function createWatcher(tables: Tables): Watcher {
  /** Versions of an entity are all different, so the first and the last sight of each suffice. */
  const seen = new Map<string, { readonly first: FightSight; last: FightSight }>()
  let looks = 0
  let isStopped = false

  async function look(): Promise<void> {
    const start = moment()
    const states = await tables.entities()
    const end = moment()
    for (const { id, version, bag } of states) {
      const key = typeof bag?.['name'] === 'string' ? bag['name'] : null
      const sight = { id, version, key, by: bag === undefined ? null : Number(bag['by']), start, end }
      const before = seen.get(`${id} ${version}`)
      if (before === undefined) seen.set(`${id} ${version}`, { first: sight, last: sight })
      else before.last = sight
    }
    looks++
  }

  return {
    sights: () => [...seen.values()].flatMap(({ first, last }) => [first, last]),
    looks: () => looks,
    async run() {
      while (!isStopped) {
        // Expected: the run makes servers unreachable.
        await look().catch(() => undefined)
        await sleep(LOOK_EVERY_MS)
      }
      tables.close()
    },
    stop: () => void (isStopped = true),
  }
}

/** Sweeps once, then checks that every key has a claim of its entity and every claim has an entity. */
async function wrongInTheEnd(store: DataStore): Promise<string[]> {
  await sweep(store, { graceMs: 0 })
  const { missing, dangling, unclaimed } = await checkIndexes(store, [byName])
  const left = missing + dangling + unclaimed
  const spec = tableSpec({
    ...byName,
    unique: true,
    table: tableName({ name: byName.name, unique: true }, 1),
  })
  const all = { prefix: [], order: 'asc', limit: 1000 } as const
  const claims = await Promise.all(store.context.driver.shards.map((shard) => shard.index(spec).scan(all)))
  const held = claims.flat().map(({ key, entityId }) => `${formatId(entityId)} ${keyIdentity(key)}`)
  const owned: string[] = []
  for await (const { id, ...bag } of store.scan())
    owned.push(...deriveClaims(byName, bag).map((key) => `${id} ${keyIdentity(key)}`))
  return [
    ...(left > 0
      ? [`checkIndex counts ${left} rows and claims that are missing or dangling after the sweep`]
      : []),
    ...owned.filter((pair) => !held.includes(pair)).map((pair) => `no claim after the sweep: ${pair}`),
    ...held
      .filter((pair) => !owned.includes(pair))
      .map((pair) => `a claim without an entity after the sweep: ${pair}`),
  ]
}
