import { createRandom } from '@looseleaf-tooling/kit/random'
import { Simulation, type SimulationOptions, type SimulationResult } from './simulation.ts'

/**
 * Simulates one life of a store from a seed: several processes with clients, cleaners, administrators of indexes, movers, consumers and
 * followers, and faults. After every step that changes a database, no ready index may lack a row, except in lives with the order
 * `entity-first`, and between a failover and its repair. Every answer must fit the history. When all is quiet and swept, the tables must match
 * the entities exactly.
 */
export async function simulate(seed: number, options: SimulationOptions = {}): Promise<SimulationResult> {
  const random = createRandom(seed)
  const realLimit = Error.stackTraceLimit
  // A life has thousands of expected errors; their stacks would cost time.
  Error.stackTraceLimit = 0
  const simulation = new Simulation(seed, random, options)
  const onUnhandled = (reason: unknown): void =>
    simulation.fail(`an unhandled rejection: ${reason instanceof Error ? reason.message : String(reason)}`)
  process.on('unhandledRejection', onUnhandled)
  try {
    return await simulation.run()
  } finally {
    process.off('unhandledRejection', onUnhandled)
    Error.stackTraceLimit = realLimit
  }
}
