import { LooseleafError, type Driver, type Time } from '@looseleaf/core'
import { DataStore } from '@looseleaf/store'
import { createReferenceDriver, type ReferenceDriver } from '@looseleaf-tooling/reference-driver'
import { faultyDriver, keepOpen, type FaultPlan } from '@looseleaf/testkit'
import { consume, type Consumer } from '../src/consumer/consume.ts'
import type { ConsumeOptions } from '../src/consumer/consume-options.ts'
import type { Handler } from '../src/consumer/row-handler.ts'
import { SHARDS } from './search.ts'

const START = 1_700_000_000_000

interface Sleeper {
  readonly due: number
  readonly of: Process
  wake(): void
}

/** A process with a store, which may be paused. */
export class Process {
  store!: DataStore
  readonly consumers: Consumer[] = []
  /** What its clock is off by, in milliseconds. */
  offMs = 0
  #running: Promise<void> | undefined
  #resume = (): void => {}
  readonly time: Time

  constructor(hours: Hours) {
    this.time = {
      now: () => START + hours.clock + this.offMs,
      elapsed: () => hours.clock,
      sleep: (ms, signal) => hours.sleep(this, ms, signal),
    }
  }

  /** Undefined while it is not paused. */
  get running(): Promise<void> | undefined {
    return this.#running
  }

  /** Until it resumes, it is asleep, and hears and sends nothing. */
  pause(): void {
    this.#running = new Promise((resolve) => (this.#resume = resolve))
  }

  resume(): void {
    this.#running = undefined
    this.#resume()
  }

  consume(handler: Handler, options: ConsumeOptions = {}): Consumer {
    const consumer = consume(this.store, 'search', handler, { from: 'beginning', ...options })
    this.consumers.push(consumer)
    return consumer
  }
}

/** Servers in plain memory and processes, whose hours go by when a test says so. */
export class Hours {
  /** Milliseconds since the beginning. */
  clock = 0
  /** What the clock of each server is off by, in milliseconds. */
  readonly serverOffMs: number[] = Array.from({ length: SHARDS }, () => 0)
  /** What goes wrong from now on, for everybody. */
  plan: FaultPlan = () => undefined
  readonly servers: ReferenceDriver = createReferenceDriver({
    shards: SHARDS,
    now: (shard) => (START + this.clock + this.serverOffMs[shard]!) * 1_000,
  })
  readonly #processes: Process[] = []
  #sleepers: Sleeper[] = []

  async start(): Promise<Process> {
    const process = new Process(this)
    const driver: Driver = faultyDriver(this.servers, (call) => {
      const { running } = process
      return running === undefined ? this.plan(call) : { before: () => running }
    })
    process.store = await DataStore.open({ shards: keepOpen(driver), migrate: true, time: process.time })
    this.#processes.push(process)
    return process
  }

  sleep(of: Process, ms: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(new LooseleafError('ABORTED', 'It was ended.'))
      const sleeper = { due: this.clock + ms, of, wake: resolve }
      this.#sleepers.push(sleeper)
      signal?.addEventListener('abort', () => {
        this.#sleepers = this.#sleepers.filter((one) => one !== sleeper)
        reject(new LooseleafError('ABORTED', 'It was ended.'))
      })
    })
  }

  /** Time passes, and who sleeps wakes when it should. */
  async pass(ms: number): Promise<void> {
    const end = this.clock + ms
    for (;;) {
      await settle()
      let next: Sleeper | undefined
      for (const one of this.#sleepers)
        if (one.of.running === undefined && (next === undefined || one.due < next.due)) next = one
      if (next === undefined || next.due > end) break
      const woken = next
      this.#sleepers = this.#sleepers.filter((one) => one !== woken)
      this.clock = Math.max(this.clock, woken.due)
      woken.wake()
    }
    this.clock = end
  }

  async end(): Promise<void> {
    this.plan = () => undefined
    for (const process of this.#processes) process.resume()
    const ended = Promise.all(
      this.#processes.map(async ({ consumers, store }) => {
        await Promise.all(consumers.map((consumer) => consumer.stop()))
        await store.close()
      }),
    )
    await this.pass(600_000)
    await ended
  }
}

async function settle(): Promise<void> {
  for (let turn = 0; turn < 25; turn++) await new Promise((resolve) => setImmediate(resolve))
}
