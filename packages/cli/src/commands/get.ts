import type { Entity } from '@looseleaf/core'
import { defineCommand, type AddCommand } from '../running/define-command.ts'
import { entityJson, entityText } from '../views/entity-view.ts'
import { exitCodes } from '../running/exit-codes.ts'

const DETAILS = `The exit code is 1 when an id has no entity.

JSON:
  { "entities": [{ "id", "version", "updated", "properties" }],
    "missing": [id] }`

export const addGet: AddCommand = (program) => {
  defineCommand(program, {
    usage: 'get <id...>',
    summary: 'Print entities by id',
    details: DETAILS,
    examples: [['get 0192f0c1-7c1e-7abc-8def-0123456789ab', 'one entity']],
  }).does(async ({ output, signal, openStore }, ids: string[]) => {
    const store = await openStore()
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
  })
}
