import type { Mistake } from './mistake.ts'
import type { ColumnAt, PathOf } from './property-paths.ts'

/** The paths that may hold a time, for suggestions of editors. */
export type TimeOf<T> = {
  [P in PathOf<T>]: 'time' extends ColumnAt<T, P> ? P : never
}[PathOf<T>]

/** Accepts the path of a time; for any other path a sentence with the mistake. */
export type CheckedExpiry<T, Path> = Path extends string
  ? string extends Path
    ? unknown
    : Path extends PathOf<T>
      ? ColumnAt<T, Path> extends 'time'
        ? [ColumnAt<T, Path>] extends [never]
          ? Mistake<`The property ${Path} holds no time, so no entity can expire by it.`>
          : unknown
        : Mistake<`The property ${Path} has to hold one Date for an entity to expire by it.`>
      : Mistake<`The kind has no property "${Path}" to expire by.`>
  : unknown
