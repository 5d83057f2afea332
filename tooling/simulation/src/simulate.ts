import { createRandom } from '@looseleaf-tooling/random'
import { Simulation, type SimulationOptions, type SimulationResult } from './simulation.ts'

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
