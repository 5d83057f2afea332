import { expect, test } from 'vitest'
import { checkNode } from './check-node.ts'

test('checkNode rejects an old Node, with the expected and the present version', () => {
  expect(() => checkNode('20.20.2')).toThrow('Looseleaf needs Node 22.18 or later; this is Node 20.20.2.')
  expect(() => checkNode('9.1.0')).toThrow(expect.objectContaining({ code: 'BAD_OPTION' }))
})

test('checkNode accepts a later Node and the present one', () => {
  for (const version of ['22.18.0', '24.0.0', '100.1.1']) checkNode(version)
  checkNode()
})
