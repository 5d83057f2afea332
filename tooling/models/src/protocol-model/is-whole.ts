import { isLong } from '@looseleaf-tooling/vitest/long'

/**
 * Tells whether this run explores every state of the situation: a long run does so for each situation, a
 * short run for the first one. A missing guard shows after few states, so every run tries all guards.
 */
export function isWhole(situations: Readonly<Record<string, unknown>>, name: string): boolean {
  return isLong || Object.keys(situations)[0] === name
}
