import { defineCommand, type AddCommand } from '../../running/define-command.ts'
import { addGenerationOption, generationsOfEach } from '../../indexes/index-generations.ts'
import {
  addHideOrDropOptions,
  hideOrDrop,
  HIDE_OR_DROP_JSON,
  type HideOrDropOptions,
} from './hide-or-drop.ts'

const DETAILS = `The first run hides the index: queries of it are refused. Writes keep it up to
date, so \`looseleaf index restore\` brings it back at once. The second run, or
--now, drops its tables. Entities do not change, so you can add and fill the
index again. A changed definition is a new generation; \`looseleaf index swap\`
drops the old ones. Several indexes take each step together: none is dropped
while one of them is not hidden. Asks once before each step; needs --yes without
a terminal.

JSON:
${HIDE_OR_DROP_JSON}`

export const addDropIndex: AddCommand = (group) => {
  const command = defineCommand(group, {
    usage: 'drop <names...>',
    summary: 'Hide indexes; given again, drop them and their tables',
    details: DETAILS,
    examples: [
      ['index drop entries_by_link', 'hide it; a second run drops it on every shard'],
      ['index drop entries_by_link entries_by_tag', 'hide both, after one question'],
      ['index drop entries_by_link --dry-run', 'print the next step'],
      [
        'index drop entries_by_link --generation 1 --now --yes',
        'drop an old generation at once, without a question',
      ],
    ],
  })
  addHideOrDropOptions(addGenerationOption(command)).does(
    async (invocation, names: string[], options: HideOrDropOptions) => {
      const { generation } = options
      const removals = await generationsOfEach(invocation, names, generation)
      const which = removals.map(({ name }) => name).join(' ')
      const only = generation === undefined ? '' : ` --generation ${generation}`
      return hideOrDrop(invocation, removals, `looseleaf index drop ${which}${only}`, options)
    },
  )
}
