import { expect, test } from 'vitest'
import { waitsFromText, waitsTask } from './noted-waits.ts'

test('noted waits are read from their text, and other texts have none', () => {
  expect(waitsFromText('{"calls":3,"longestMs":40}')).toEqual({ calls: 3, longestMs: 40 })
  expect(waitsFromText('{"calls":-1}')).toEqual({ calls: 0, longestMs: 0 })
  expect(waitsFromText('')).toBeUndefined()
})

test('the waits of each move have a task of their own', () => {
  expect([waitsTask(1), waitsTask(20)]).toEqual(['move/1/waits', 'move/20/waits'])
})
