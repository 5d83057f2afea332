import { msgpackZlibCodec } from '@looseleaf/codec'
import { drainPending, startCleaner, sweep, type Cleaner } from '@looseleaf/cleaner'
import { formatId, isLooseleafError, type Time } from '@looseleaf/core'
import { bucketRouter } from '@looseleaf/router'
import { DataStore } from '@looseleaf/store'
import { createReferenceDriver, type ReferenceDriver } from '@looseleaf-tooling/reference-driver'
import { runClient } from './client.ts'
import { chooseFaults, noFaults, type Faults } from './faults.ts'
import { withFlaw, type Flaw } from './flawed-driver.ts'
import { createHistory, type History } from './history.ts'
import { byGroup, byGroupAndRank, byTag } from './indexes.ts'
import { createPromiseCheck } from './promise-check.ts'
import { createRandom, type Random } from './random.ts'
import { createScheduler, type Scheduler } from './scheduler.ts'
import { simulatedDriver, type Life, type Network } from './simulated-driver.ts'

export interface SimulationResult {
  readonly seed: number
  readonly faults: Faults
  readonly steps: number
  readonly crashes: number
  readonly counts: History['counts']
  /** What broke, in words; undefined when all held. */
  readonly violation: string | undefined
  /** Everything that happened, a line each. */
  readonly log: readonly string[]
}

const SHARDS = 2
const MOST_ENTITIES = 4
const PROCESSES = 3
const CLIENTS = 2
const OPERATIONS = 6
/** A process that dies again and again would never get anything done. */
const MAX_CRASHES = 5
/** In a hurry, for a life of some seconds. Milliseconds of virtual time. */
const CLEANER = {
  graceMs: 200,
  intervalMs: 100,
  overlapMs: 1000,
  catalogMs: 100,
  leaseMs: 500,
  settleMs: 20,
  pollMs: 50,
}
/** A run that has not come to rest by then hangs. */
const MAX_STEPS = 40_000

/**
 * One life of a store, from a seed: several processes with clients, a cleaner, an index that is added on the way, and
 * faults. After every step, no ready index may lack a row; every answer has to fit the history; and when all is quiet
 * and swept, the index tables have to be exactly what the entities say.
 */
export async function simulate(seed: number, flaw?: Flaw): Promise<SimulationResult> {
  const random = createRandom(seed)
  const realRandom = Math.random
  Math.random = random.next
  try {
    return await new Simulation(seed, random, flaw).run()
  } finally {
    Math.random = realRandom
  }
}

class Simulation {
  readonly #seed: number
  readonly #flaw: Flaw | undefined
  readonly #random: Random
  readonly #scheduler: Scheduler
  readonly #driver: ReferenceDriver
  readonly #router = bucketRouter({ shards: SHARDS })
  readonly #codec = msgpackZlibCodec()
  readonly #history: History
  readonly #faults: Faults
  readonly #onIndexFailure: 'fail' | 'defer'
  readonly #down = new Set<number>()
  readonly #ids: readonly string[]
  readonly #running = new Set<Promise<void>>()
  readonly #lives: { readonly life: Life; readonly die: () => void }[] = []
  readonly #cleaners: (Cleaner | undefined)[] = []
  #calm = true
  /** Whether the last step may have changed what the databases hold. */
  #changed = false
  #steps = 0
  #crashes = 0
  #failure: string | undefined

  constructor(seed: number, random: Random, flaw: Flaw | undefined) {
    this.#seed = seed
    this.#flaw = flaw
    this.#random = random
    this.#scheduler = createScheduler(random, (label) => this.#observe(label))
    this.#driver = createReferenceDriver({ shards: SHARDS, now: () => this.#scheduler.now() * 1000 })
    this.#history = createHistory(this.#driver, this.#codec)
    this.#faults = chooseFaults(random)
    this.#onIndexFailure = random.chance(0.3) ? 'defer' : 'fail'
    this.#ids = Array.from({ length: 1 + random.below(MOST_ENTITIES) }, () =>
      formatId(
        Uint8Array.from(
          { length: 16 },
          (_, i) => (i === 6 ? 0x70 : i === 8 ? 0x80 : 0) | random.below(i === 6 ? 16 : 64),
        ),
      ),
    )
  }

  async run(): Promise<SimulationResult> {
    const check = createPromiseCheck(this.#driver, this.#router, this.#codec)
    const { store } = await this.#play(this.#open('setup'))
    void store
    this.#calm = false
    for (let n = 0; n < PROCESSES; n++) this.#start(n)

    while (this.#failure === undefined && (this.#running.size > 0 || this.#steps === 0)) {
      this.#changed = false
      await this.#step()
      const missing = this.#changed ? await check.missing() : []
      if (missing.length > 0) this.#failure ??= `missing: ${missing.join('; ')}`
    }
    if (this.#failure === undefined) await this.#endWell(check)
    return {
      seed: this.#seed,
      faults: this.#faults,
      steps: this.#steps,
      crashes: this.#crashes,
      counts: this.#history.counts,
      violation: this.#failure,
      log: this.#scheduler.log,
    }
  }

  /** Calm weather: what is under way ends, one sweep passes, and then everything has to be exact. */
  async #endWell(check: ReturnType<typeof createPromiseCheck>): Promise<void> {
    this.#calm = true
    this.#down.clear()
    await Promise.all(this.#cleaners.map(async (cleaner) => cleaner && this.#play(cleaner.stop())))
    while (await this.#step());
    const { store } = await this.#play(this.#open('sweeper'))
    await this.#play(drainPending(store))
    await this.#play(sweep(store, { graceMs: 0 }))
    while (await this.#step());
    const [missing, dangling] = [await check.missing(), await check.dangling()]
    if (missing.length + dangling.length > 0) {
      this.#failure ??= `after the sweep: missing ${missing.join('; ')} dangling ${dangling.join('; ')}`
    }
    await this.#play(store.close())
  }

  async #step(): Promise<boolean> {
    if (++this.#steps > MAX_STEPS) this.#failure ??= `nothing came to rest within ${MAX_STEPS} steps`
    if (!this.#calm) this.#weather()
    const moved = await this.#scheduler.step()
    const wrong = this.#history.wrongs[0]
    if (wrong !== undefined) this.#failure ??= wrong
    return moved && this.#failure === undefined
  }

  #observe(label: string): void {
    if (/load|read|scan|claim|save|page|rowsOf|count|now/.test(label)) return
    this.#changed = true
    this.#history.observe()
  }

  /** Lets the world go on until this one thing has ended. */
  async #play<T>(work: Promise<T>): Promise<T> {
    let ended = false
    const watched = work.finally(() => (ended = true))
    watched.catch(() => undefined)
    while (!ended) {
      await this.#step()
      if (this.#steps > MAX_STEPS) throw new Error(`Nothing came to rest within ${MAX_STEPS} steps.`)
    }
    return watched
  }

  #weather(): void {
    if (this.#random.chance(this.#faults.shardDown)) {
      const shard = this.#random.below(SHARDS)
      if (this.#down.delete(shard)) this.#scheduler.note(`-- shard ${shard} is back`)
      else {
        this.#down.add(shard)
        this.#scheduler.note(`-- shard ${shard} is down`)
      }
    } else if (this.#down.size > 0 && this.#random.chance(0.05)) this.#down.clear()
    if (this.#crashes < MAX_CRASHES && this.#random.chance(this.#faults.crash)) {
      const process = this.#random.pick(this.#lives)
      if (!process.life.alive) return
      process.life.alive = false
      this.#crashes++
      this.#scheduler.note(`-- ${process.life.name} stops dead`)
      process.die()
      this.#start(this.#lives.indexOf(process))
    }
  }

  /** A process: a store, its clients, perhaps a cleaner; process 0 also adds an index. A dead one is followed by a new one. */
  #start(number: number): void {
    const life: Life = { name: `${'ABC'[number]}${this.#crashes}`, alive: true }
    // A dead process never answers, so nobody may wait for it.
    const death = Promise.withResolvers<void>()
    this.#lives[number] = { life, die: death.resolve }
    const work = this.#live(life, number)
    const tracked = Promise.race([work, death.promise])
      .catch((error: unknown) => {
        this.#failure ??= `${life.name} threw ${String(error)}`
      })
      .finally(() => this.#running.delete(tracked))
    this.#running.add(tracked)
  }

  async #live(life: Life, number: number): Promise<void> {
    const { store } = await this.#retry(life, () => this.#open(life.name, life))
    const hasCleaner = number === 0 || this.#random.chance(0.3)
    this.#cleaners[number] = hasCleaner ? startCleaner(store, CLEANER) : undefined
    const clients = Array.from({ length: CLIENTS }, () =>
      runClient({
        store,
        random: this.#random,
        history: this.#history,
        ids: this.#ids,
        operations: OPERATIONS,
      }),
    )
    const admin = number === 0 ? [this.#retry(life, () => store.addIndex(byGroupAndRank))] : []
    await Promise.all([...clients, ...admin])
    await store.settled()
  }

  async #retry<T>(life: Life, work: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await work()
      } catch (error) {
        if (!isLooseleafError(error) || !life.alive) throw error
        await this.#scheduler.time.sleep(10)
      }
    }
  }

  /** A dead process wakes no more. */
  #timeOf(life: Life): Time {
    const { now, sleep } = this.#scheduler.time
    return {
      now,
      async sleep(milliseconds, signal) {
        await sleep(milliseconds, signal)
        if (!life.alive) await new Promise(() => undefined)
      },
    }
  }

  async #open(name: string, life: Life = { name, alive: true }): Promise<{ store: DataStore }> {
    const network: Network = {
      scheduler: this.#scheduler,
      random: this.#random,
      down: this.#down,
      faults: () => (this.#calm ? noFaults : this.#faults),
    }
    const shards = this.#driver.shards.map((shard) => withFlaw(shard, this.#flaw))
    const driver = simulatedDriver({ ...this.#driver, shards }, life, network)
    const store = await DataStore.open({
      shards: { shardCount: SHARDS, connect: async () => driver },
      router: this.#router,
      codec: this.#codec,
      indexes: [byTag, byGroup],
      migrate: name === 'setup',
      onIndexFailure: this.#onIndexFailure,
      time: this.#timeOf(life),
      onWarning: () => undefined,
    })
    // Wrapped, for a store is not to be mistaken for a promise by whoever awaits it.
    return { store }
  }
}
