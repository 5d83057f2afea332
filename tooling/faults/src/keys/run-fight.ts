import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { checkIndex, sweep } from '@looseleaf/cleaner'
import { msgpackZlibCodec } from '@looseleaf/codec'
import { formatId } from '@looseleaf/core'
import { mysqlShards } from '@looseleaf/driver-mysql'
import { deriveClaims, keyIdentity, tableName, tableSpec } from '@looseleaf/index-engine'
import { DataStore } from '@looseleaf/store'
import { createRandom } from '@looseleaf-tooling/random'
import { createConnection, type Connection, type RowDataPacket } from 'mysql2/promise'
import { moment, readRecords } from '../history/records.ts'
import { checkFight, type FightResult } from './check-fight.ts'
import type { FightRecord, FightSight } from './fight-records.ts'
import type { FighterConfig } from './fighter.ts'
import type { KeyFlaw } from './flawed-keys.ts'
import { byName } from './names.ts'

export interface FightOptions {
  /** One empty database each, for the processes of the fight. */
  readonly urls: readonly string[]
  /** The same for the one who looks. Default: `urls`. */
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
  /** How often all entities were looked at. */
  readonly looks: number
}

const CLEANER_GRACE_MS = 1_000
/** Longer than writers wait for each other before they take a key over. */
const LONGEST_STOP_MS = 900
const LOOK_EVERY_MS = 10
/** A process that needs longer for its last calls hangs. */
const END_MS = 60_000

/**
 * Processes whose entities take, give up and take over a few keys, while some of them are killed and others stand still. Every
 * answer is held against what is seen in the tables meanwhile and, in the end, against the claims.
 */
export async function runFight(options: FightOptions): Promise<Fight> {
  const { urls, adminUrls = (): readonly string[] => urls, seed, processes, flaw } = options
  const folder = await mkdtemp(join(tmpdir(), 'looseleaf-fight-'))
  const random = createRandom(seed)
  const store = await DataStore.open({
    shards: mysqlShards(adminUrls()),
    indexes: [byName],
    migrate: true,
    onWarning: () => undefined,
  })
  const ids = Array.from({ length: options.entities }, () => store.newId())
  const keys = Array.from({ length: options.keys }, (_, n) => `key ${n}`)
  const children: ChildProcess[] = []
  const start = async (): Promise<void> => {
    const fighter = children.length + 1
    const file = join(folder, `${fighter}.jsonl`)
    const cleanerGraceMs = fighter === 1 ? CLEANER_GRACE_MS : undefined
    const config: FighterConfig = { fighter, seed, urls, file, ids, keys, flaw, cleanerGraceMs }
    const child = startFighter(config)
    children.push(child)
    await Promise.race([once(child, 'message'), once(child, 'exit')])
  }
  const watcher = createWatcher(adminUrls)
  let [kills, stops] = [0, 0]
  try {
    await Promise.all(Array.from({ length: processes }, start))
    const looking = watcher.run()
    const until = performance.now() + options.seconds * 1000
    while (performance.now() < until) {
      await sleep(random.below(200))
      // The first one has the cleaner, and stays.
      const victims = children.slice(1).filter(isRunning)
      if (victims.length === 0) break
      const victim = random.pick(victims)
      if (random.chance(0.15)) {
        kills++
        victim.kill('SIGKILL')
        await start()
      } else {
        stops++
        victim.kill('SIGSTOP')
        await sleep(random.below(LONGEST_STOP_MS))
        victim.kill('SIGCONT')
      }
    }
    const hanging = await endAll(children)
    await sleep(4 * LOOK_EVERY_MS)
    watcher.stop()
    await looking
    const records = children.flatMap((_, n) => readRecords<FightRecord>(join(folder, `${n + 1}.jsonl`)))
    const { counts, wrongs } = checkFight(records, watcher.sights())
    const failed = children.filter(({ exitCode }) => (exitCode ?? 0) !== 0).length
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
    for (const child of children) child.kill('SIGKILL')
    await store.close()
    await rm(folder, { recursive: true, force: true })
  }
}

function startFighter(config: FighterConfig): ChildProcess {
  return fork(fileURLToPath(new URL('./fighter.ts', import.meta.url)), [JSON.stringify(config)], {
    execArgv: ['--conditions=@looseleaf/source', '--disable-warning=ExperimentalWarning'],
    env: { ...process.env, NODE_OPTIONS: '' },
  })
}

const isRunning = ({ exitCode, signalCode }: ChildProcess): boolean =>
  exitCode === null && signalCode === null

/** Lets every call end. Answers how many processes had to be killed. */
async function endAll(children: readonly ChildProcess[]): Promise<number> {
  const running = children.filter(isRunning)
  const gone = running.map((child) => once(child, 'exit'))
  for (const child of running) child.send('stop', () => undefined)
  await Promise.race([Promise.all(gone), sleep(END_MS, undefined, { ref: false })])
  return running.filter(isRunning).length
}

interface Watcher {
  sights(): readonly FightSight[]
  looks(): number
  /** Looks at all entities again and again, until it is stopped. */
  run(): Promise<void>
  stop(): void
}

/** Looks past the store: at the shards one by one, for what is consistent is told by versions. */
function createWatcher(urls: () => readonly string[]): Watcher {
  const codec = msgpackZlibCodec()
  /** Of each version of an entity, which are all different, the first sight and the last one say all. */
  const seen = new Map<string, { readonly first: FightSight; last: FightSight }>()
  let looks = 0
  let isStopped = false

  async function look(connection: Connection): Promise<void> {
    const start = moment()
    const [rows] = await connection.query<RowDataPacket[]>('SELECT id, version, body FROM entities')
    const end = moment()
    for (const row of rows) {
      const id = formatId(row['id'] as Buffer)
      const version = Number(row['version'])
      const bag = row['body'] === null ? undefined : codec.decode(row['body'] as Buffer)
      const key = typeof bag?.['name'] === 'string' ? bag['name'] : null
      const sight = { id, version, key, by: bag === undefined ? null : Number(bag['by']), start, end }
      const before = seen.get(`${id} ${version}`)
      if (before === undefined) seen.set(`${id} ${version}`, { first: sight, last: sight })
      else before.last = sight
    }
  }

  async function lookOn(shard: number): Promise<void> {
    let connection: Connection | undefined
    while (!isStopped) {
      try {
        connection ??= await createConnection({ uri: urls()[shard] ?? '', supportBigNumbers: true })
        await look(connection)
        looks++
      } catch {
        connection?.destroy()
        connection = undefined
      }
      await sleep(LOOK_EVERY_MS)
    }
    await connection?.end()
  }

  return {
    sights: () => [...seen.values()].flatMap(({ first, last }) => [first, last]),
    looks: () => looks,
    run: async () => void (await Promise.all(urls().map((_, shard) => lookOn(shard)))),
    stop: () => void (isStopped = true),
  }
}

/** One sweep, and then every key is with its entity, and no claim is without. */
async function wrongInTheEnd(store: DataStore): Promise<string[]> {
  await sweep(store, { graceMs: 0 })
  const { missing, dangling, unclaimed, unsettled } = await checkIndex(store, byName.name, { settleMs: 0 })
  const left = missing + dangling + unclaimed + unsettled
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
      .map((pair) => `a claim of nobody after the sweep: ${pair}`),
  ]
}
