import type { Side, SideName } from '../sides/side.ts'
import { runCallers, type Run } from './run-callers.ts'
import { spreadOf, type Spread } from './statistics.ts'
import { readUsage, usagePerCall, type ServerMeter, type Usage } from './usage.ts'

export interface CompareOptions {
  readonly sides: readonly [looseleaf: Side, handWritten: Side]
  /** One call of the scenario. */
  readonly call: (side: Side) => Promise<void>
  readonly callers: number
  readonly rounds: number
  /** Of each side's part of a round. */
  readonly seconds: number
  readonly server: ServerMeter | undefined
}

/** One side's part of one round. */
export interface Sample extends Run {
  readonly callsPerSecond: number
  readonly perCall: Usage
}

export interface SideResult {
  readonly callsPerSecond: Spread
  /** Milliseconds. */
  readonly p50: Spread
  readonly p99: Spread
  /** Medians. */
  readonly perCall: Usage
  readonly samples: readonly Sample[]
}

export interface Comparison {
  readonly sides: Readonly<Record<SideName, SideResult>>
  /** Calls a second, Looseleaf's divided by the hand-written ones', round by round. */
  readonly ratio: Spread
}

/** Seconds of warm-up are this share of a round's, for each side. */
const WARM_UP_SHARE = 0.5

/**
 * Measures both sides in turns, so that whatever else the machine does hits both alike. Who goes first alternates, and a ratio is
 * only taken within a round.
 */
export async function compare(options: CompareOptions): Promise<Comparison> {
  const [looseleaf, handWritten] = options.sides
  for (const side of options.sides) await measure(side, options, options.seconds * WARM_UP_SHARE)
  const samples: Record<SideName, Sample[]> = { looseleaf: [], 'hand-written': [] }
  for (let round = 0; round < options.rounds; round++) {
    const turns = round % 2 === 0 ? [looseleaf, handWritten] : [handWritten, looseleaf]
    for (const side of turns) samples[side.name].push(await measure(side, options, options.seconds))
  }
  const ratios = samples.looseleaf.map(
    (sample, round) => sample.callsPerSecond / (samples['hand-written'][round] as Sample).callsPerSecond,
  )
  return {
    sides: { looseleaf: resultOf(samples.looseleaf), 'hand-written': resultOf(samples['hand-written']) },
    ratio: spreadOf(ratios),
  }
}

async function measure(side: Side, options: CompareOptions, seconds: number): Promise<Sample> {
  // Nobody's garbage is collected in the other's time, if Node was started with --expose-gc.
  globalThis.gc?.()
  const before = await readUsage(options.server)
  const run = await runCallers(() => options.call(side), { callers: options.callers, seconds })
  // Work that was put off belongs to who has put it off.
  await side.settled()
  const after = await readUsage(options.server)
  return { ...run, callsPerSecond: run.calls / run.seconds, perCall: usagePerCall(before, after, run.calls) }
}

function resultOf(samples: readonly Sample[]): SideResult {
  const spread = (value: (sample: Sample) => number): Spread => spreadOf(samples.map(value))
  const median = (name: keyof Usage): number | undefined => {
    const values = samples.map((sample) => sample.perCall[name]).filter((value) => value !== undefined)
    return values.length === 0 ? undefined : spreadOf(values).median
  }
  return {
    callsPerSecond: spread((sample) => sample.callsPerSecond),
    p50: spread((sample) => sample.latency.p50),
    p99: spread((sample) => sample.latency.p99),
    perCall: {
      clientCpu: median('clientCpu') ?? 0,
      serverCpu: median('serverCpu'),
      statements: median('statements'),
      flushes: median('flushes'),
    },
    samples,
  }
}
