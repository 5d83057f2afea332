import { expectTypeOf, test } from 'vitest'
import type { DataStoreOptions, Randomness, Time } from '../src/index.ts'

test('the types of options have exported names', () => {
  expectTypeOf<Time>().toEqualTypeOf<NonNullable<DataStoreOptions['time']>>()
  expectTypeOf<Randomness>().toEqualTypeOf<NonNullable<DataStoreOptions['random']>>()
})
