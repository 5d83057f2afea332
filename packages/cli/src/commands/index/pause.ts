import { badOption } from '@looseleaf/core/internal'
import { defineCommand, type AddCommand, type CommandText } from '../../running/define-command.ts'
import {
  addGenerationOption,
  generationsNamed,
  generationsText,
  numbersOf,
  type Generation,
  type GenerationOption,
} from '../../indexes/index-generations.ts'
import type { Invocation } from '../../running/invocation.ts'

const JSON_SHAPE = 'JSON: { "generations": [number], "paused": true or false }'

const PAUSE_DETAILS = `Within seconds the cleaners of all processes stop filling the index. Progress is
saved, and writes keep the index up to date. It stays paused until
\`looseleaf index resume\`.

${JSON_SHAPE}`

const RESUME_DETAILS = `A running cleaner continues the filling by itself; otherwise run
\`looseleaf clean\`.

${JSON_SHAPE}`

const PAUSE: CommandText = {
  usage: 'pause <name>',
  summary: 'Stop the filling of an index in every process',
  details: PAUSE_DETAILS,
  examples: [['index pause entries_by_link', 'while the databases are busy']],
}

const RESUME: CommandText = {
  usage: 'resume <name>',
  summary: 'Continue the filling of a paused index',
  details: RESUME_DETAILS,
  examples: [['index resume entries_by_link', 'continue where it was paused']],
}

export const addPauseIndex: AddCommand = (group) => {
  const add = (text: CommandText, paused: boolean, stateOf: (name: string) => string): void => {
    addGenerationOption(defineCommand(group, text)).does(
      async (invocation, name: string, options: GenerationOption) => {
        const { output, signal } = invocation
        const building = await buildingNamed(invocation, name, options.generation)
        const store = await invocation.openStore()
        for (const { rows } of building) {
          if (paused) await store.pauseIndex(rows, { signal })
          else await store.resumeIndex(rows, { signal })
        }
        output.result(
          { generations: numbersOf(building), paused },
          () => `Index ${name}, ${generationsText(building)}, is ${stateOf(name)}`,
        )
      },
    )
  }
  add(PAUSE, true, (name) => `paused. Continue with: looseleaf index resume ${name}`)
  add(RESUME, false, (name) => `building. A cleaner fills it, or run: looseleaf clean --index ${name}`)
}

/** Returns the generations that are being filled. Throws `BAD_OPTION` if there are none. */
async function buildingNamed(
  invocation: Invocation,
  name: string,
  number: number | undefined,
): Promise<readonly Generation[]> {
  const { chosen } = await generationsNamed(invocation, name, number)
  const building = chosen.filter(({ rows, claims }) => [rows.state, claims?.state].includes('building'))
  if (building.length > 0) return building
  throw badOption(`Index ${name} is ${chosen.at(-1)?.rows.state}: there is no filling to pause or resume.`)
}
