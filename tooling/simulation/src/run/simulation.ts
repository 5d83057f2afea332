import type { Random } from '@looseleaf-tooling/kit/random'
import { createChecker, type BrokenCheck, type CheckCounts } from '../checks.ts'
import { createCommittedRows } from '../tables/committed-rows.ts'
import { endWell } from './ending.ts'
import { createFallbacks, type Fallbacks } from './fallbacks.ts'
import type { Counts } from '../history/evidence.ts'
import { noOutcomes, type MoveOutcome } from '../processes/mover.ts'
import { faultKinds, onlyFaults, partNames, type FaultKind, type Part } from '../faults/faults.ts'
import { flawInfo, type Flaw } from '../faults/flaws.ts'
import { createConsumed, type Consumed } from '../history/consumed.ts'
import { createFollower, type Follower } from '../history/follower.ts'
import { createHistory, type History } from '../history/history.ts'
import { createKeyCheck } from '../tables/key-check.ts'
import { createLife } from '../steps/life.ts'
import { lookAtKeys, lookAtRows, type LookOptions } from '../tables/look-beneath.ts'
import { createProcesses, type Processes } from '../processes/processes.ts'
import { createPromiseCheck } from '../tables/promise-check.ts'
import { createScheduler, type Scheduler, type Statement } from '../steps/scheduler.ts'
import { createWeather, type Weather } from './weather.ts'
import { chooseCircumstances, type Circumstances } from '../faults/circumstances.ts'
import { createWorld, type World } from '../world/world.ts'

export interface SimulationOptions {
  readonly flaw?: Flaw | undefined
  /** Gives the lives the circumstances of this flaw, without its mistake. */
  readonly lifeOf?: Flaw | undefined
  /** Faults that may happen. Default: all, or those that the flaw needs. */
  readonly faults?: readonly FaultKind[] | undefined
  /** Work of the clients in every life. Default: each seed chooses. */
  readonly clients?: Circumstances['clients'] | undefined
  /** Parts that every life has. Default: each seed chooses; a flaw has the parts that it needs. */
  readonly parts?: readonly Part[] | undefined
}

export interface SimulationResult {
  readonly seed: number
  readonly circumstances: Circumstances
  readonly steps: number
  /** How often each kind of fault happened. */
  readonly happened: Readonly<Record<FaultKind, number>>
  /** How often each outcome of a mover's call occurred. */
  readonly moves: Readonly<Record<MoveOutcome, number>>
  /** How often the tables were checked for missing rows. */
  readonly checks: number
  /** How often an operator has repaired failovers of whole shards, so that all promises held again. */
  readonly repairs: number
  readonly counts: Counts
  /** How often each check was made. */
  readonly checked: CheckCounts
  /** The first violation; undefined if all checks held. */
  readonly violation: BrokenCheck | undefined
  /** All events, one line each. */
  readonly log: readonly string[]
}

/** Milliseconds that pass per step when only administrators remain: they wait for leases of a minute. */
const IDLE_LEAP = 2000
/** A run that is still not at rest after so many steps hangs. */
const MAX_STEPS = 200_000

/** A follower runs in every third life, and in all lives with a flaw of followers. */
function isFollowed(seed: number, flaw: Flaw | undefined): boolean {
  return flaw === undefined ? seed % 3 === 0 : flaw === 'changes without a flush'
}

/**
 * Replicas are in every eighth life, a cache is in every twelfth, buckets move in every fifth, and entities are near each other in every
 * third; lives with a flaw of them always have them.
 */
function partsOf(seed: number, flaw: Flaw | undefined): readonly Part[] {
  const life = flaw && flawInfo(flaw).life
  const has = {
    replicas: flaw === undefined ? seed % 8 === 1 : (life?.replicasEach ?? 0) > 0,
    cache: flaw === undefined ? seed % 12 === 5 : (life?.cacheMs ?? 0) > 0,
    moves: flaw === undefined ? seed % 5 === 2 : (life?.movers ?? 0) > 0,
    near: flaw === undefined ? seed % 3 === 0 : life?.isNear === true,
  }
  return partNames.filter((part) => has[part])
}

/** Runs a world step by step. */
export class Simulation {
  readonly #seed: number
  readonly #random: Random
  readonly #scheduler: Scheduler
  readonly #world: World
  readonly #history: History
  readonly #beneath: LookOptions
  readonly #weather: Weather
  /** Present in some lives. */
  readonly #follower: Follower | undefined
  readonly #consumed: Consumed | undefined
  readonly #fallbacks: Fallbacks
  readonly #processes: Processes
  readonly #running = new Set<Promise<void>>()
  /** Whether the last step may have changed the databases. */
  #changed = false
  #steps = 0
  readonly #checker = createChecker()
  readonly #moves = { ...noOutcomes }

  constructor(
    seed: number,
    random: Random,
    { flaw, lifeOf = flaw, faults, clients, parts }: SimulationOptions,
  ) {
    this.#seed = seed
    this.#random = random
    this.#scheduler = createScheduler(random, (statement) => this.#observe(statement))
    const info = lifeOf && flawInfo(lifeOf)
    const allowed = faults ?? info?.among ?? faultKinds
    const own = new Set(parts ?? partsOf(seed, lifeOf))
    const chosen = { ...chooseCircumstances(random, allowed, own, clients), ...info?.life }
    const circumstances = { ...chosen, faults: onlyFaults(chosen.faults, allowed) }
    this.#world = createWorld(circumstances, this.#scheduler, random, flaw)
    const { codec, owners } = this.#world
    this.#history = createHistory(owners, codec, {
      checker: this.#checker,
      now: () => this.#scheduler.now(),
      promisesRows: (operation) => this.#isPromised && this.#fallbacks.isSince(operation),
      mayDefer: this.#world.onIndexFailure === 'defer',
      mayMove: this.#world.movers > 0,
      mayFailOver: this.#world.faults.failover > 0,
    })
    const committed = createCommittedRows(owners, codec)
    this.#follower = isFollowed(seed, lifeOf)
      ? createFollower({ owners, checker: this.#checker, pollMs: this.#world.movers > 0 ? 500 : 60 })
      : undefined
    this.#consumed = this.#world.hasConsumer
      ? createConsumed({ owners, checker: this.#checker, random, isCalm: () => this.#world.isCalm })
      : undefined
    this.#beneath = {
      world: this.#world,
      checker: this.#checker,
      promise: createPromiseCheck(owners, committed),
      keys: createKeyCheck(owners, committed),
    }
    const shared = {
      world: this.#world,
      scheduler: this.#scheduler,
      random,
      track: (work: Promise<void>) => this.#track(work),
    }
    this.#fallbacks = createFallbacks({
      ...shared,
      history: this.#history,
      keys: this.#beneath.keys,
      restart: flaw !== 'clean goes on where it was',
      busy: () => this.#processes.busy(),
    })
    this.#processes = createProcesses({
      ...shared,
      flaw,
      history: this.#history,
      checker: this.#checker,
      moves: this.#moves,
      follower: this.#follower,
      consumed: this.#consumed,
      isRepaired: () => this.#fallbacks.isRepaired(),
    })
    this.#weather = createWeather({
      ...shared,
      lives: () => this.#processes.lives(),
      isMover: (life) => this.#processes.isMover(life),
      crash: (life) => this.#processes.crash(life),
      failedOver: () => this.#failedOver(),
      serverCrashed: () => this.#serverCrashed(),
    })
  }

  /** Records a violation that belongs to no other check. */
  fail(what: string): void {
    this.#checker.check('no call throws an unexpected error or waits for ever', what)
  }

  /** Whether no row may be missing at this instant. */
  get #isPromised(): boolean {
    return this.#fallbacks.isWhole() && this.#world.writeOrder === 'index-first'
  }

  get #isBroken(): boolean {
    return this.#checker.broken !== undefined
  }

  async run(): Promise<SimulationResult> {
    await this.#play(this.#world.open(createLife('setup'), true))
    // Every replica has at least the first state of the store.
    for (const past of this.#world.pasts) past.remember(this.#scheduler.now())
    this.#world.isCalm = false
    this.#processes.startAll()

    while (!this.#isBroken && (this.#running.size > 0 || this.#steps === 0)) {
      this.#changed = false
      await this.#step()
      if (this.#changed) this.#lookBeneath()
    }
    if (!this.#isBroken) {
      await this.#endWell().catch((error: unknown) => this.fail(`the end failed: ${String(error)}`))
    }
    if (!this.#isBroken) this.#checker.check('no call throws an unexpected error or waits for ever')
    return {
      seed: this.#seed,
      circumstances: this.#world,
      steps: this.#steps,
      happened: this.#world.happened,
      checks: this.#beneath.promise.checks,
      moves: this.#moves,
      repairs: this.#fallbacks.repairs(),
      counts: this.#history.counts,
      checked: this.#checker.counts,
      violation: this.#checker.broken,
      log: this.#scheduler.log,
    }
  }

  /** Compares the tables with the entities, at this instant. */
  #lookBeneath(): void {
    const { movers, owners } = this.#world
    if (movers > 0) this.#checker.check('a bucket has one owner at most', ...owners.doubled())
    if (!this.#fallbacks.isWhole()) return
    lookAtKeys(this.#beneath)
    if (!this.#isPromised) return
    const hasBegunWithout = this.#processes.hasBegunWithout()
    lookAtRows(this.#beneath, { hasBegunWithout, repairs: this.#fallbacks.repairs() })
  }

  #endWell(): Promise<void> {
    return endWell({
      ...this.#beneath,
      scheduler: this.#scheduler,
      weather: this.#weather,
      cleaners: this.#processes.cleaners(),
      follower: this.#follower,
      consumed: this.#consumed,
      hasFallenBack: () => this.#fallbacks.count() > 0,
      step: () => this.#step(),
      play: (work) => this.#play(work),
    })
  }

  async #step(): Promise<boolean> {
    if (++this.#steps > MAX_STEPS) this.fail(`nothing came to rest within ${MAX_STEPS} steps`)
    if (!this.#world.isCalm) {
      this.#weather.pass()
      if (this.#processes.busy() === 0) this.#scheduler.leap(this.#random.below(IDLE_LEAP))
    }
    const moved = (await this.#scheduler.step()) || this.#weather.wakeAll()
    return moved && !this.#isBroken
  }

  #observe(statement: Statement): void {
    this.#weather.arrived(statement)
    const { shard, writes } = statement
    if (!writes) return
    this.#changed = true
    this.#world.owners.observe()
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
    this.#fallbacks.happened()
  }

  #serverCrashed(): void {
    this.#changed = true
    this.#history.serverCrashed()
    this.#follower?.serverCrashed()
    this.#consumed?.serverCrashed()
    this.#beneath.keys.fellBack()
  }

  /** Adds this work to that in progress, for which the life waits. An error of it is a violation. */
  #track(work: Promise<void>): void {
    const tracked = work
      .catch((error: unknown) => {
        this.fail(`a call threw ${String(error)}`)
      })
      .finally(() => this.#running.delete(tracked))
    this.#running.add(tracked)
  }

  /** Runs the world until this work has ended. */
  async #play<T>(work: Promise<T>): Promise<T> {
    let ended = false
    const watched = work.finally(() => (ended = true))
    watched.catch(() => undefined)
    while (!ended) {
      await this.#step()
      if (this.#steps > MAX_STEPS) throw new Error(`The life did not come to rest within ${MAX_STEPS} steps.`)
    }
    return watched
  }
}
