import type fc from 'fast-check'
import { canonical } from '../canonical.ts'
import type { Model } from '../model.ts'
import type { World } from '../world.ts'

/** A call of the store and of the oracle, and the comparison of their answers. */
export type Command = fc.AsyncCommand<Model, World>

/** Returns an arbitrary of commands of one kind, from an arbitrary of their parameters. */
export function command<Parameters>(
  name: string,
  parameters: fc.Arbitrary<Parameters>,
  run: (parameters: Parameters, model: Model, world: World, text: string) => Promise<void>,
): fc.Arbitrary<Command> {
  return parameters.map((given) => {
    const text = `${name} ${shorten(canonical(given))}`
    return {
      check: () => true,
      run: (model, world) => run(given, model, world, text),
      toString: () => text,
    }
  })
}

/** Replaces long runs of one character by their length. */
export function shorten(text: string): string {
  return text.replaceAll(/(.)\1{20,}/gs, (run, one: string) => `${one}…×${run.length}`)
}
