import type { EntityId } from '@looseleaf/core'
import { badOption } from '@looseleaf/core/internal'
import { defineCommand, type AddCommand } from '../running/define-command.ts'
import { wholeNumber } from '../running/parse-whole.ts'
import { kindCheck } from '../input/kind-check.ts'
import { parseBag, readAll } from '../input/read-input.ts'

interface PutCommandOptions {
  readonly id?: EntityId
  readonly ifVersion?: number
  readonly check: boolean
}

const DETAILS = `Replaces the whole entity if its id exists. Without an id it makes a fresh one,
in the bucket of the property that the option near of its kind names.
\`looseleaf import --help\` shows how to write values that JSON cannot express.
An entity whose "_kind" is a kind of the config must fit its schema. An entity
of no kind of the config is stored unchanged, with a warning on stderr that
names its "_kind" and the kinds of the config.

JSON: { "id", "version", "created", "warnings": [text] }`

export const addPut: AddCommand = (program) => {
  defineCommand(program, {
    usage: 'put [json]',
    summary: 'Store one entity, given as JSON or on stdin',
    details: DETAILS,
    examples: [
      [
        `put '{"title":"We just launched","published":{"$date":"2009-02-27T00:00:00.000Z"}}'`,
        'with a fresh id',
      ],
      [
        'put --id 0192f0c1-7c1e-7abc-8def-0123456789ab --if-version 1700000000000000 < entry.json',
        'only if unchanged',
      ],
    ],
  })
    .option('--id <uuid>', 'the entity’s id; takes precedence over an "id" in the JSON')
    .option(
      '--if-version <version>',
      'only if the entity still has this version; 0: only if there is no entity',
      wholeNumber(0, Number.MAX_SAFE_INTEGER, 'a whole number'),
    )
    .option('--no-check', 'do not check the entity against the schema of its kind')
    .does(
      async (
        { console, output, signal, openStore, settings },
        json: string | undefined,
        options: PutCommandOptions,
      ) => {
        if (json === undefined && console.stdin.isTTY === true) {
          throw badOption(`Give the entity as JSON: looseleaf put '{"title":"…"}', or on stdin.`)
        }
        const bag = parseBag(json === undefined ? await readAll(console.stdin) : Buffer.from(json))
        const store = await openStore()
        const { id, ifVersion } = options
        const kinds = options.check ? kindCheck((await settings()).kinds) : undefined
        const named = id === undefined ? bag : { ...bag, id }
        const checked = kinds?.check(named) ?? named
        const near = checked['id'] === undefined ? kinds?.placeOf(checked) : undefined
        const result = await store.put(checked, {
          signal,
          id,
          near,
          ...(ifVersion !== undefined && { ifVersion }),
        })
        const warnings = kinds?.warnings('entity') ?? []
        output.result(
          { ...result, warnings },
          () =>
            `${output.colors.bold(result.id)}  ${output.colors.dim(`${result.created ? 'created' : 'replaced'}, version ${result.version}`)}`,
        )
        for (const warning of warnings) output.warn(warning)
      },
    )
}
