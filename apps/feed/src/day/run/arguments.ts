import { parseArgs, type ParseArgsConfig } from 'node:util'
import { messageOf } from '../../text/message-of.ts'

/** Thrown for invalid arguments. The message is for people. */
export class BadArgument extends Error {
  override readonly name = 'BadArgument'
}

/** Reads options that all have a text. Throws `BadArgument` for unknown ones and for other arguments. */
export function readOptions<Name extends string>(
  args: readonly string[],
  names: readonly Name[],
): Partial<Record<Name, string>> {
  const options: ParseArgsConfig['options'] = {}
  for (const name of names) options[name] = { type: 'string' }
  try {
    const { values } = parseArgs({ args: args.filter((arg) => arg !== '--'), options })
    return values as Partial<Record<Name, string>>
  } catch (error) {
    throw new BadArgument(messageOf(error))
  }
}

/** Returns the number of an option within these bounds, or the default if the option is absent. */
export function readNumber(
  name: string,
  text: string | undefined,
  { by, min, max, isWhole = true }: { by: number; min: number; max: number; isWhole?: boolean },
): number {
  if (text === undefined) return by
  const number = Number(text)
  if (text.trim() !== '' && number >= min && number <= max && (!isWhole || Number.isInteger(number)))
    return number
  throw new BadArgument(
    `--${name} is a ${isWhole ? 'whole number' : 'number'} from ${min} to ${max}; got “${text.slice(0, 20)}”.`,
  )
}
