import type { Bag, PropertyValue } from '@looseleaf/core'

/** Counter of a bag's answers, so that no two are the same. */
interface Answers {
  given: number
}

/** Mechanism by which a property returns its values in turn. */
export type Guise = 'getters' | 'proxy'

/**
 * Returns a bag that answers differently on each read: a property takes its value from each of these bags in
 * turn, and so does everything nested in it. Its Dates and bytes behave like those of lying classes.
 */
export function shiftingBag(bags: readonly Bag[], guise: Guise): Bag {
  const answers: Answers = { given: 0 }
  const names = new Set(bags.flatMap((bag) => Object.keys(bag)))
  const answer = (name: string): unknown => shifting(next(bags, answers)?.[name], answers)
  const target: Record<string, unknown> = {}
  for (const name of names) {
    Object.defineProperty(target, name, {
      enumerable: true,
      configurable: true,
      get: () => answer(name),
    })
  }
  if (guise === 'getters') return target as Bag
  return new Proxy(target, { get: (_, name) => answer(String(name)) }) as Bag
}

function next<T>(choices: readonly T[], answers: Answers): T | undefined {
  return choices[answers.given++ % choices.length]
}

function shifting(value: PropertyValue | undefined, answers: Answers): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof Date) return shiftingDate(value, answers)
  if (value instanceof Uint8Array) return shiftingBytes(value, answers)
  const held = Object.values(value) as readonly PropertyValue[]
  return new Proxy(value, {
    get(target, name, receiver) {
      const isOwn = Object.hasOwn(target, name) && name !== 'length'
      return isOwn ? shifting(next(held, answers), answers) : Reflect.get(target, name, receiver)
    },
  })
}

function shiftingDate(date: Date, answers: Answers): Date {
  const time = date.getTime()
  const shifted = (): number => time + (time > 0 ? -1 : 1) * answers.given++
  class ShiftingDate extends Date {
    override getTime(): number {
      return shifted()
    }
    override valueOf(): number {
      return shifted()
    }
    override toISOString(): string {
      return new Date(shifted()).toISOString()
    }
    override [Symbol.toPrimitive](): never {
      return shifted() as never
    }
  }
  return new ShiftingDate(time)
}

function shiftingBytes(bytes: Uint8Array, answers: Answers): Uint8Array {
  class ShiftingBytes extends Uint8Array {
    override get length(): number {
      return answers.given++ % 3
    }
    override get byteLength(): number {
      return answers.given++ % 3
    }
  }
  return new ShiftingBytes(bytes)
}
