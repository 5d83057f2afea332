import { tunedCheckIndex } from '@looseleaf/cleaner/internal'
import fc from 'fast-check'
import type { Backend } from './backend.ts'
import { indexChanges } from './commands/index-changes.ts'
import { intersections } from './commands/intersections.ts'
import { paging } from './commands/paging.ts'
import { reads } from './commands/reads.ts'
import { writes } from './commands/writes.ts'
import type { Command } from './commands/command.ts'
import { indexesOfOne } from './indexes.ts'
import { Model } from './model.ts'
import { Oracle } from './oracle.ts'
import { assertReplayable } from './replay.ts'
import { propertySettings, replayPath } from './settings.ts'
import { World } from './world.ts'

export interface ModelRunOptions {
  /** Number of histories. */
  readonly runs: number
  /** Greatest number of commands in a history. */
  readonly commands: number
  /** Test file, for the hint that replays a failing history. */
  readonly file: string
}

/**
 * Runs the same histories on all of these backends. Each answer must be the oracle's. At the end, the answers
 * of the backends must be identical, even where the oracle allows several.
 */
export async function checkModel(backends: readonly Backend[], options: ModelRunOptions): Promise<void> {
  await assertReplayable(
    modelProperty(backends, options.commands),
    propertySettings(options.runs),
    options.file,
  )
}

/** The property that `checkModel` asserts, for histories of at most this many commands. */
export function modelProperty(
  backends: readonly Backend[],
  commands: number,
): fc.IAsyncPropertyWithHooks<[Iterable<Command>]> {
  const histories = fc.commands(
    [...writes, ...writes, ...reads, ...paging, ...intersections, ...indexChanges],
    {
      maxCommands: commands,
      size: 'max',
      ...(replayPath === undefined ? {} : { replayPath }),
    },
  )
  return fc.asyncProperty(histories, async (history) => {
    const traces: (readonly string[])[] = []
    for (const backend of backends) traces.push(await runOn(backend, history))
    for (const [i, trace] of traces.entries()) {
      const differs = trace.findIndex((answer, step) => answer !== traces[0]![step])
      if (differs === -1 && trace.length === traces[0]!.length) continue
      throw new Error(
        `Step ${differs}:\n  on ${backends[0]!.name}: ${traces[0]![differs]}\n  on ${backends[i]!.name}: ${trace[differs]}`,
      )
    }
  })
}

/** Runs one history on one backend and returns all answers. */
async function runOn(backend: Backend, commands: Iterable<Command>): Promise<readonly string[]> {
  const world = await World.create(backend)
  try {
    const model = new Model(new Oracle(indexesOfOne))
    await fc.asyncModelRun(() => ({ model, real: world }), commands)
    await checkAtRest(model, world)
    return world.trace
  } finally {
    await world.end()
  }
}

/** Checks at rest that every index holds exactly the rows of its entities, on the right shards. */
async function checkAtRest(model: Model, world: World): Promise<void> {
  await world.store.settled()
  for (const { definition, state } of model.oracle.indexes) {
    const isAlone =
      model.oracle.indexes.filter((index) => index.definition.name === definition.name).length === 1
    // A name with several generations stands for only one of them.
    if (state !== 'ready' || !isAlone) continue
    const { missing, unclaimed, dangling, misplaced, rows } = await tunedCheckIndex(
      world.store,
      definition.name,
      {
        settleMs: 0,
      },
    )
    const expected = model.oracle.rowCount(definition)
    if (missing + unclaimed + dangling + misplaced > 0 || rows !== expected) {
      world.fail(
        `index ${definition.name} has ${rows} rows instead of ${expected}: ${missing} missing, ${unclaimed} unclaimed, ${dangling} dangling, ${misplaced} misplaced`,
      )
    }
  }
}
