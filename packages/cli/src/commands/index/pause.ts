import { LooseleafError } from '@looseleaf/core'
import { defineCommand, type AddCommand, type CommandText } from '../../define-command.ts'
import {
  addGenerationOption,
  generationsNamed,
  generationsText,
  numbersOf,
  type Generation,
} from '../../index-generations.ts'
import type { CommonOptions, Session } from '../../session.ts'

interface PauseOptions extends CommonOptions {
  readonly generation?: number
}

const JSON_SHAPE = 'JSON: { "generations": [number], "paused": true or false }'

const PAUSE_DETAILS = `Within seconds no cleaner in any process works on it. What was done is kept, and
writes keep the index up to date. It stays paused until
\`looseleaf index resume\`.

${JSON_SHAPE}`

const RESUME_DETAILS = `A running cleaner goes on with it by itself; otherwise run \`looseleaf clean\`.

${JSON_SHAPE}`

const PAUSE: CommandText = {
  usage: 'pause <name>',
  summary: 'Stop the filling of an index in every process',
  details: PAUSE_DETAILS,
  examples: [['index pause entries_by_link', 'while there is much to do for others']],
}

const RESUME: CommandText = {
  usage: 'resume <name>',
  summary: 'Let the filling of an index go on where it was paused',
  details: RESUME_DETAILS,
  examples: [['index resume entries_by_link', 'it goes on where it was']],
}

/** `looseleaf index pause|resume`. */
export const addPauseIndex: AddCommand = (group, run) => {
  const addMark = (text: CommandText, paused: boolean, next: (name: string) => string): void => {
    addGenerationOption(defineCommand(group, text)).action((name: string, options: PauseOptions) =>
      run(options, async (session) => {
        const { output, signal } = session
        const building = await buildingNamed(session, name, options.generation)
        const store = await session.store()
        for (const { rows } of building) {
          if (paused) await store.pauseIndex(rows, { signal })
          else await store.resumeIndex(rows, { signal })
        }
        output.result(
          { generations: numbersOf(building), paused },
          () => `Index ${name}, ${generationsText(building)}, is ${next(name)}`,
        )
      }),
    )
  }
  addMark(PAUSE, true, (name) => `paused. Go on with: looseleaf index resume ${name}`)
  addMark(RESUME, false, (name) => `building. A cleaner fills it, or: looseleaf clean --index ${name}`)
}

/** Throws `BAD_OPTION` where nothing is being filled. */
async function buildingNamed(
  session: Session,
  name: string,
  number: number | undefined,
): Promise<readonly Generation[]> {
  const { signal } = session
  const { chosen } = await generationsNamed(await session.store(), name, number, { signal })
  const building = chosen.filter(({ rows, claims }) => [rows.state, claims?.state].includes('building'))
  if (building.length > 0) return building
  throw new LooseleafError(
    'BAD_OPTION',
    `Index ${name} is ${chosen.at(-1)?.rows.state}: there is no filling to pause or resume.`,
  )
}
