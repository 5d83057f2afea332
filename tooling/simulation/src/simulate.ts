import { drainPending, startCleaner, sweep, type Cleaner } from '@looseleaf/cleaner'
import { isLooseleafError, type Time } from '@looseleaf/core'
import type { DataStore } from '@looseleaf/store'
import { createRandom, type Random } from '@looseleaf-tooling/random'
import { runAdministrator } from './administrator.ts'
import { createChecker, type BrokenCheck, type CheckCounts } from './checks.ts'
import { runClient, type ReplicaClient } from './client.ts'
import { createCommittedRows } from './committed-rows.ts'
import { faultKinds, onlyFaults, partNames, type FaultKind, type Part } from './faults.ts'
import { clientsStore, keepDraining, onlyDrains } from './flawed-process.ts'
import { flawInfo, type Flaw } from './flaws.ts'
import { createFollower, type Follower } from './follower.ts'
import { createHistory, type Counts, type History } from './history.ts'
import { createKeyCheck } from './key-check.ts'
import { createLife, type Life } from './life.ts'
import { repair } from './operator.ts'
import { lookAtKeys, lookAtRows, type LookOptions } from './look-beneath.ts'
import { createPromiseCheck } from './promise-check.ts'
import { createScheduler, type Scheduler, type Statement } from './scheduler.ts'
import { createWeather, type Weather } from './weather.ts'
import { chooseCircumstances, createWorld, type Circumstances, type Opened, type World } from './world.ts'

export interface SimulationOptions {
  readonly flaw?: Flaw | undefined
  /** The faults that may happen. Default: all, or those that the flaw needs. */
  readonly faults?: readonly FaultKind[] | undefined
  /** What clients do in every life. Default: each seed chooses. */
  readonly clients?: Circumstances['clients'] | undefined
  /** What every life has. Default: some have it, and those with a flaw of it. */
  readonly parts?: readonly Part[] | undefined
}

export interface SimulationResult {
  readonly seed: number
  readonly circumstances: Circumstances
  readonly steps: number
  /** How often each kind of fault has happened. */
  readonly happened: Readonly<Record<FaultKind, number>>
  /** How often it was looked whether anything committed is missing. */
  readonly checks: number
  /** How often an operator has repaired what failovers of whole shards had lost, so that everything was promised again. */
  readonly repairs: number
  readonly counts: Counts
  /** How often each check was made. */
  readonly checked: CheckCounts
  /** What broke; undefined when all held. */
  readonly violation: BrokenCheck | undefined
  /** Everything that happened, a line each. */
  readonly log: readonly string[]
}

const PROCESSES = 3
const CLIENTS = 2
const OPERATIONS = { everything: 5, moves: 15, keys: 12 }
/** More, so that it comes to be known how far replicas are, and something is found in a cache. */
const OPERATIONS_WITH_COPIES = 30
/** More, so that some are under way when a repair ends. */
const OPERATIONS_UNTIL_REPAIRED = 60
/** Milliseconds that go by at a step when only administrators are still at work: they wait for leases of a minute. */
const IDLE_LEAP = 2000
/** In a hurry, for a life of some seconds. Milliseconds of virtual time. */
const CLEANER = {
  graceMs: 200,
  intervalMs: 100,
  idleIntervalMs: 1000,
  catalogMs: 200,
  leaseMs: 500,
  settleMs: 20,
  pollMs: 50,
}
/** Longer than writers wait for one another, so that they come to take keys over before a cleaner does. */
const GRACE_OF_KEYS_MS = 1000
/** The process that follows the changes, in a life in which somebody does. */
const FOLLOWING = 2
/** A follower who has not caught up by then never does. */
const MAX_POLLS = 200
/** A run that has not come to rest by then hangs. */
const MAX_STEPS = 200_000

/**
 * One life of a store, from a seed: several processes with clients, cleaners and administrators of indexes, and faults.
 * After every step, no ready index may lack a row; every answer has to fit the history; and when all is quiet and swept,
 * the tables have to be exactly what the entities say.
 */
export async function simulate(seed: number, options: SimulationOptions = {}): Promise<SimulationResult> {
  const random = createRandom(seed)
  const realLimit = Error.stackTraceLimit
  // Thousands of errors are part of a life, and nobody reads where they come from.
  Error.stackTraceLimit = 0
  const simulation = new Simulation(seed, random, options)
  const onUnhandled = (reason: unknown): void =>
    simulation.fail(`nobody took care of ${reason instanceof Error ? reason.message : String(reason)}`)
  process.on('unhandledRejection', onUnhandled)
  try {
    return await simulation.run()
  } finally {
    process.off('unhandledRejection', onUnhandled)
    Error.stackTraceLimit = realLimit
  }
}

/** In every third life, so that the others are as quick as they were; where a flaw is of it, in all. */
function isFollowed(seed: number, flaw: Flaw | undefined): boolean {
  return flaw === undefined ? seed % 3 === 0 : flaw === 'changes without a flush'
}

/** Replicas are in every eighth life, and a cache is in every twelfth; where a flaw is of them, in all. */
function partsOf(seed: number, flaw: Flaw | undefined): readonly Part[] {
  const life = flaw && flawInfo(flaw).life
  const has = {
    replicas: flaw === undefined ? seed % 8 === 1 : (life?.replicasEach ?? 0) > 0,
    cache: flaw === undefined ? seed % 12 === 5 : (life?.cacheMs ?? 0) > 0,
  }
  return partNames.filter((part) => has[part])
}

class Simulation {
  readonly #seed: number
  readonly #flaw: Flaw | undefined
  readonly #random: Random
  readonly #scheduler: Scheduler
  readonly #world: World
  readonly #history: History
  readonly #beneath: LookOptions
  readonly #weather: Weather
  /** In some lives. */
  readonly #follower: Follower | undefined
  readonly #running = new Set<Promise<void>>()
  readonly #lives: { readonly life: Life; readonly die: () => void }[] = []
  readonly #cleaners: (Cleaner | undefined)[] = []
  /** Processes whose clients are still at work. */
  readonly #busy = new Set<Life>()
  /** Whether the last step may have changed what the databases hold. */
  #changed = false
  /** False from when a whole shard has fallen back until somebody has repaired it. */
  #isWhole = true
  /** Operations up to this number began before the last repair. */
  #begunBefore = 0
  /** What the databases had gone through at that repair. */
  #repairedAt = 0
  /** Failovers of whole shards. */
  #fallbacks = 0
  #isRepaired = true
  #repairs = 0
  /** Whether a process has begun while a shard was down. */
  #hasBegunWithout = false
  #steps = 0
  readonly #checker = createChecker()
  readonly #tokens: ReplicaClient['tokens'] = []

  constructor(seed: number, random: Random, { flaw, faults, clients, parts }: SimulationOptions) {
    this.#seed = seed
    this.#flaw = flaw
    this.#random = random
    this.#scheduler = createScheduler(random, (statement) => this.#observe(statement))
    const info = flaw && flawInfo(flaw)
    const allowed = faults ?? info?.among ?? faultKinds
    const own = new Set(parts ?? partsOf(seed, flaw))
    const chosen = { ...chooseCircumstances(random, allowed, own, clients), ...info?.life }
    const circumstances = { ...chosen, faults: onlyFaults(chosen.faults, allowed) }
    this.#world = createWorld(circumstances, this.#scheduler, random, flaw)
    const { driver, router, codec } = this.#world
    this.#history = createHistory(driver, codec, {
      checker: this.#checker,
      now: () => this.#scheduler.now(),
      promisesRows: ({ number, since }) =>
        this.#isPromised && number > this.#begunBefore && since >= this.#repairedAt,
      mayDefer: this.#world.onIndexFailure === 'defer',
      mayFailOver: this.#world.faults.failover > 0,
    })
    const committed = createCommittedRows(driver, router, codec)
    this.#follower = isFollowed(seed, flaw) ? createFollower(driver, this.#checker) : undefined
    this.#beneath = {
      world: this.#world,
      checker: this.#checker,
      promise: createPromiseCheck(driver, router, committed),
      keys: createKeyCheck(driver, committed),
    }
    this.#weather = createWeather({
      world: this.#world,
      scheduler: this.#scheduler,
      random,
      lives: () => this.#lives.map(({ life }) => life),
      crash: (life) => this.#crash(life),
      failedOver: () => this.#failedOver(),
      serverCrashed: () => this.#serverCrashed(),
    })
  }

  /** Something is wrong that no check has noticed. */
  fail(what: string): void {
    this.#checker.check('nobody throws what nobody expects, or waits for ever', what)
  }

  /** Whether no row may be missing at any instant. */
  get #isPromised(): boolean {
    return this.#isWhole && this.#world.writeOrder === 'index-first'
  }

  get #isBroken(): boolean {
    return this.#checker.broken !== undefined
  }

  async run(): Promise<SimulationResult> {
    await this.#play(this.#world.open(createLife('setup'), true))
    // No replica is so far behind that it has not heard of the store.
    for (const past of this.#world.pasts) past.remember(this.#scheduler.now())
    this.#world.isCalm = false
    for (let n = 0; n < PROCESSES; n++) this.#start(n)

    while (!this.#isBroken && (this.#running.size > 0 || this.#steps === 0)) {
      this.#changed = false
      await this.#step()
      if (this.#changed) this.#lookBeneath()
    }
    if (!this.#isBroken) {
      await this.#endWell().catch((error: unknown) => this.fail(`the end failed: ${String(error)}`))
    }
    if (!this.#isBroken) this.#checker.check('nobody throws what nobody expects, or waits for ever')
    return {
      seed: this.#seed,
      circumstances: this.#world,
      steps: this.#steps,
      happened: this.#world.happened,
      checks: this.#beneath.promise.checks,
      repairs: this.#repairs,
      counts: this.#history.counts,
      checked: this.#checker.counts,
      violation: this.#checker.broken,
      log: this.#scheduler.log,
    }
  }

  /** Holds the tables against the entities, at this instant. */
  #lookBeneath(): void {
    if (!this.#isWhole) return
    lookAtKeys(this.#beneath)
    if (!this.#isPromised) return
    lookAtRows(this.#beneath, { hasBegunWithout: this.#hasBegunWithout, repairs: this.#repairs })
  }

  /** Calm weather: what is under way ends, one sweep passes, and then everything has to be exact. */
  async #endWell(): Promise<void> {
    const { clients, deleteDelayMs, happened, writeOrder } = this.#world
    const { check } = this.#checker
    const { promise, keys } = this.#beneath
    this.#world.isCalm = true
    this.#world.down.clear()
    this.#weather.wakeAll()
    await Promise.all(this.#cleaners.map(async (cleaner) => cleaner && this.#play(cleaner.stop())))
    while (await this.#step());
    // What a shard has forgotten of the catalog, it takes over from the others.
    const { store } = await this.#play(this.#world.open(createLife('sweeper'), true))
    if (this.#follower !== undefined) await this.#play(this.#catchUp(this.#follower, store))
    this.#scheduler.leap(deleteDelayMs)
    await this.#play(drainPending(store))
    let swept = await this.#play(sweep(store, { graceMs: 0 }))
    if (deleteDelayMs > 0) {
      // Attempts of the dead were fenced; a fence can be lost by a failover too, so their rows go when it is old enough.
      this.#scheduler.leap(deleteDelayMs)
      swept = await this.#play(sweep(store, { graceMs: 0 }))
    }
    const inexact = promise.inexact().map((what) => `after the sweep: ${what}`)
    check('one sweep makes tables exact', ...inexact)
    if (writeOrder === 'entity-first')
      check('one sweep makes tables exact where rows come after their entities', ...inexact)
    if (clients === 'keys') check('one sweep gives every key to an entity that has it', ...keys.unheld())
    if (this.#fallbacks + happened.serverCrash > 0) {
      const agree = promise.catalogsAgree()
      check('catalogs agree in the end when a shard has forgotten changes', !agree && 'catalogs differ')
    }
    // A fence raises a version without its rows, and those that include properties are written again then.
    if (clients === 'keys' && swept.fenced > 0) await this.#play(sweep(store, { graceMs: 0 }))
    const { added, removed, fenced } = await this.#play(sweep(store, { graceMs: 0 }))
    check('a second sweep finds nothing to do', added + removed + fenced > 0 && 'there was something to do')
    await this.#play(store.close())
  }

  /** Whatever was committed comes within some polls. */
  async #catchUp(follower: Follower, store: DataStore): Promise<void> {
    const ended = new AbortController()
    const following = follower.follow(store, ended.signal)
    const time = this.#scheduler.timeOf(createLife('patience'))
    for (let polls = 0; polls < MAX_POLLS && !follower.hasAll; polls++) await time.sleep(100)
    ended.abort()
    await following
    follower.checkAll()
  }

  async #step(): Promise<boolean> {
    if (++this.#steps > MAX_STEPS) this.fail(`nothing came to rest within ${MAX_STEPS} steps`)
    if (!this.#world.isCalm) {
      this.#weather.pass()
      if (this.#busy.size === 0) this.#scheduler.leap(this.#random.below(IDLE_LEAP))
    }
    const moved = (await this.#scheduler.step()) || this.#weather.wakeAll()
    return moved && !this.#isBroken
  }

  #observe({ shard, writes }: Statement): void {
    if (!writes) return
    this.#changed = true
    this.#history.observe()
    const isKept = this.#world.deleteDelayMs > 0 || this.#world.replicasEach > 0
    if (this.#world.isCalm || !isKept) return
    this.#world.pasts[shard]?.remember(this.#scheduler.now())
  }

  #failedOver(): void {
    this.#changed = true
    this.#history.failedOver()
    this.#follower?.failedOver()
    this.#beneath.keys.fellBack()
    if (this.#world.failoverOf !== 'everything') return
    this.#beneath.promise.forget()
    this.#isWhole = false
    this.#fallbacks++
    if (this.#isRepaired) this.#track(this.#repair())
  }

  #serverCrashed(): void {
    this.#changed = true
    this.#history.serverCrashed()
    this.#follower?.serverCrashed()
    this.#beneath.keys.fellBack()
  }

  /** An operator repairs what a failover has lost, and what another one has lost meanwhile. */
  async #repair(): Promise<void> {
    this.#isRepaired = false
    let fallbacks: number
    do {
      fallbacks = this.#fallbacks
      const life = createLife(`operator${fallbacks}`)
      const isDone = await repair({
        open: (migrate) => this.#world.open(life, migrate),
        time: this.#scheduler.timeOf(life),
        restart: this.#flaw !== 'clean goes on where it was',
      })
      if (!isDone) break
      if (fallbacks === this.#fallbacks) {
        this.#isWhole = true
        this.#beneath.keys.promisedAgain()
        this.#begunBefore = this.#history.counts.operations
        this.#repairedAt = this.#history.moment()
        this.#repairs++
        this.#scheduler.note(`-- the operator has repaired it; ${this.#busy.size} processes are busy`)
      }
    } while (fallbacks !== this.#fallbacks)
    this.#isRepaired = true
  }

  /** The world goes on until it has ended. */
  #track(work: Promise<void>): void {
    const tracked = work
      .catch((error: unknown) => {
        this.fail(`somebody threw ${String(error)}`)
      })
      .finally(() => this.#running.delete(tracked))
    this.#running.add(tracked)
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

  #crash(life: Life): void {
    const number = this.#lives.findIndex((each) => each.life === life)
    life.alive = false
    this.#busy.delete(life)
    this.#lives[number]?.die()
    this.#start(number)
  }

  /** A process. A dead one is followed by a new one. */
  #start(number: number): void {
    const { maxSkewMs, happened } = this.#world
    const skewMs = this.#random.below(2 * maxSkewMs + 1) - maxSkewMs
    const life = createLife(`${'ABC'[number]}${happened.crash}`, skewMs)
    this.#busy.add(life)
    // A dead process never answers, so nobody may wait for it.
    const death = Promise.withResolvers<void>()
    this.#lives[number] = { life, die: death.resolve }
    this.#track(Promise.race([this.#live(life, number), death.promise]))
  }

  /** A store, its clients, perhaps a cleaner, perhaps an administrator. */
  async #live(life: Life, number: number): Promise<void> {
    const random = this.#random
    const { store, cleaned } = await this.#open(life)
    const isCleaned = !onlyDrains(this.#flaw) && (number === 0 || random.chance(0.4))
    const time = this.#scheduler.timeOf(life)
    const isAdministered = number === 0 || (number === 1 && random.chance(0.3))
    const changes = isAdministered ? 1 + random.below(3) : 0
    const hasKeys = this.#world.clients === 'keys'
    const options = hasKeys ? { ...CLEANER, graceMs: GRACE_OF_KEYS_MS } : CLEANER
    this.#cleaners[number] = isCleaned ? startCleaner(cleaned, options) : undefined
    const clients = this.#runClients(store, life, time).then(() => void this.#busy.delete(life))
    const drains = onlyDrains(this.#flaw) && keepDraining(cleaned, time, () => !this.#busy.has(life))
    const ended = new AbortController()
    const following = number === FOLLOWING ? this.#follower?.follow(store, ended.signal) : undefined
    await Promise.all([clients, drains, runAdministrator({ store, life, time, random, changes, hasKeys })])
    ended.abort()
    await following
    await store.settled()
    // Or replicas would be looked after for a while.
    if (this.#world.replicasEach > 0) await store.close()
  }

  async #runClients(store: DataStore, { skewMs }: Life, time: Time): Promise<void> {
    const { ids, clients, names, cacheMs, replicasEach } = this.#world
    const usual = replicasEach + cacheMs > 0 ? OPERATIONS_WITH_COPIES : OPERATIONS[clients]
    const mayGoOn = (operations: number): boolean =>
      operations < (this.#isRepaired ? usual : OPERATIONS_UNTIL_REPAIRED)
    const client = {
      store: clientsStore(store, this.#flaw),
      random: this.#random,
      history: this.#history,
      ids,
      clients,
      names,
      cacheMs,
      replicas: replicasEach === 0 ? undefined : { skewMs, tokens: this.#tokens },
      time,
      mayRest: replicasEach + cacheMs > 0,
      mayGoOn,
    }
    await Promise.all(Array.from({ length: CLIENTS }, () => runClient(client)))
  }

  async #open(life: Life): Promise<Opened> {
    for (;;) {
      try {
        const begunWithout = this.#world.down.size > 0
        const opened = await this.#world.open(life)
        this.#hasBegunWithout ||= begunWithout
        return opened
      } catch (error) {
        if (!isLooseleafError(error) || !life.alive) throw error
        await this.#scheduler.timeOf(life).sleep(10)
      }
    }
  }
}
