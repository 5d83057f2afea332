import type { Bag, PropertyValue } from '@looseleaf/core'

/** Where the answers of one bag are counted, so that no two of them are the same. */
interface Answers {
  given: number
}

/** How a property that has several values answers: one after the other. */
export type Guise = 'getters' | 'proxy'

/**
 * A bag that answers otherwise each time it is asked: a property with the value that it has in one of these bags, in turn, and
 * whatever is nested in it with what stands in another place. Its Dates and bytes do as those of classes that lie.
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
