import type { LooseleafCommand } from './define-command.ts'
import { parseWhole } from './parse-whole.ts'

export function addRateOption(command: LooseleafCommand): LooseleafCommand {
  return command.option(
    '--rows-per-second <rows>',
    'largest number of entities and rows read per second (default: no limit)',
    parseWhole,
  )
}
