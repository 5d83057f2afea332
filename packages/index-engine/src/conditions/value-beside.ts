import { isDate, type ColumnType } from '@looseleaf/core/internal'

/**
 * Returns the value next to another one of an indexed type: the greatest below it (-1), or the least above it (1). A string has no
 * greatest one below it, so the result is the string without its last character. Undefined if the type has no such value; the result may
 * be too great for an index.
 */
export function valueBeside(type: ColumnType, value: unknown, side: -1 | 1): unknown {
  // Dates hold whole milliseconds.
  if (isDate(value)) return new Date(value.getTime() + side)
  if (typeof value === 'bigint') return value + BigInt(side)
  if (typeof value === 'number')
    return type === 'integer' ? integerBeside(value, side) : numberBeside(value, side)
  if (type !== 'string' || typeof value !== 'string') return undefined
  if (side === 1) return `${value}\0`
  return value === '' ? undefined : [...value].slice(0, -1).join('')
}

function integerBeside(value: number, side: -1 | 1): number | bigint {
  return Number.isSafeInteger(value + side) ? value + side : BigInt(value) + BigInt(side)
}

/** Doubles of one sign are in the order of their bits. */
function numberBeside(value: number, side: -1 | 1): number {
  if (value === 0) return side * Number.MIN_VALUE
  const double = new DataView(new ArrayBuffer(8))
  double.setFloat64(0, value)
  double.setBigInt64(0, double.getBigInt64(0) + BigInt(value > 0 ? side : -side))
  return double.getFloat64(0)
}
