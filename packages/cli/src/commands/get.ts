import type { Entity } from '@looseleaf/core'
import { defineCommand, type AddCommand } from '../running/define-command.ts'
import { entityJson, entityText } from '../views/entity-view.ts'
import { exitCodes } from '../running/exit-codes.ts'
import type { CommonOptions } from '../running/invocation.ts'

const DETAILS = `The exit code is 1 when an id has no entity.

JSON:
  { "entities": [{ "id", "version", "updated", "properties" }],
    "missing": [id] }`

/** Adds `looseleaf get`, which prints entities by id. */
export const addGet: AddCommand = (program, run) => {
  defineCommand(program, {
    usage: 'get <id...>',
    summary: 'Print entities by id',
    details: DETAILS,
    examples: [['get 0192f0c1-7c1e-7abc-8def-0123456789ab', 'one entity']],
  }).action((ids: string[], options: CommonOptions) =>
    run(options, async (invocation) => {
      const { output, signal } = invocation
      const store = await invocation.store()
      const found = await store.getMany(ids, { signal })
      const entities = found.filter((entity): entity is Entity => entity !== undefined)
      const missing = ids.filter((_, i) => found[i] === undefined)
      output.result({ entities: entities.map(entityJson), missing }, () =>
        found
          .map((entity, i) =>
            entity === undefined
              ? output.colors.yellow(`There is no entity ${ids[i]}.`)
              : entityText(output, entity),
          )
          .join('\n\n'),
      )
      return missing.length === 0 ? exitCodes.ok : exitCodes.found
    }),
  )
}
