/**
 * Constructs the object that it is given, so that a subclass can add a private field to an object of another class. Keys,
 * spreads and clones do not see the field, and it is far quicker to set than an entry of a WeakMap.
 */
// oxlint-disable-next-line typescript/no-extraneous-class -- the constructor returns its argument
export class Itself {
  constructor(object: object) {
    return object
  }
}
