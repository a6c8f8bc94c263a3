; a write through a chain of views

; == add_as_strided_scatter
; loop [p0] kept 1 vector 0
;   buffer b0 f32 written
;   buffer b1 f32
;   access a0 b0 + p1 [1]
;   access a1 b1 + 0 [1]
;   %0 f32 = load a0
;   %1 f32 = load a1
;   %2 f32 = op Add %0 %1
;   %3 f32 = store a0 %2
; ModuleID = 'kernel'
source_filename = "kernel"

; Function Attrs: nounwind
define void @kernel(ptr %0, ptr %1, i64 %2, i64 %3) #0 {
entry:
  %4 = icmp slt i64 %2, %3
  br i1 %4, label %work, label %done

work:                                             ; preds = %entry
  %5 = getelementptr i64, ptr %1, i64 0
  %6 = load i64, ptr %5, align 8
  %7 = getelementptr ptr, ptr %0, i64 0
  %8 = load ptr, ptr %7, align 8
  %9 = getelementptr ptr, ptr %0, i64 1
  %10 = load ptr, ptr %9, align 8
  %11 = getelementptr i64, ptr %1, i64 1
  %12 = load i64, ptr %11, align 8
  %13 = getelementptr float, ptr %8, i64 %12
  %14 = add i64 %6, 4095
  %15 = lshr i64 %14, 12
  br label %task.head

done:                                             ; preds = %task.end, %entry
  ret void

task.head:                                        ; preds = %tail.end, %work
  %task1 = phi i64 [ %2, %work ], [ %87, %tail.end ]
  %16 = phi i64 [ %2, %work ], [ %86, %tail.end ]
  %17 = icmp slt i64 %task1, %3
  br i1 %17, label %task, label %task.end

task:                                             ; preds = %task.head
  %18 = mul i64 %16, 4096
  %19 = add i64 %18, 4096
  %20 = call i64 @llvm.smin.i64(i64 %19, i64 %6)
  %21 = sub i64 %20, %18
  %22 = and i64 %21, -32
  %23 = add i64 %18, %22
  br label %vector.head

vector.head:                                      ; preds = %vector, %task
  %vector2 = phi i64 [ %18, %task ], [ %70, %vector ]
  %24 = icmp slt i64 %vector2, %23
  br i1 %24, label %vector, label %vector.end

vector:                                           ; preds = %vector.head
  %25 = mul i64 %vector2, 1
  %26 = getelementptr float, ptr %13, i64 %25
  %27 = load <8 x float>, ptr %26, align 4
  %28 = mul i64 %vector2, 1
  %29 = getelementptr float, ptr %13, i64 %28
  %30 = getelementptr float, ptr %29, i64 8
  %31 = load <8 x float>, ptr %30, align 4
  %32 = mul i64 %vector2, 1
  %33 = getelementptr float, ptr %13, i64 %32
  %34 = getelementptr float, ptr %33, i64 16
  %35 = load <8 x float>, ptr %34, align 4
  %36 = mul i64 %vector2, 1
  %37 = getelementptr float, ptr %13, i64 %36
  %38 = getelementptr float, ptr %37, i64 24
  %39 = load <8 x float>, ptr %38, align 4
  %40 = mul i64 %vector2, 1
  %41 = getelementptr float, ptr %10, i64 %40
  %42 = load <8 x float>, ptr %41, align 4
  %43 = mul i64 %vector2, 1
  %44 = getelementptr float, ptr %10, i64 %43
  %45 = getelementptr float, ptr %44, i64 8
  %46 = load <8 x float>, ptr %45, align 4
  %47 = mul i64 %vector2, 1
  %48 = getelementptr float, ptr %10, i64 %47
  %49 = getelementptr float, ptr %48, i64 16
  %50 = load <8 x float>, ptr %49, align 4
  %51 = mul i64 %vector2, 1
  %52 = getelementptr float, ptr %10, i64 %51
  %53 = getelementptr float, ptr %52, i64 24
  %54 = load <8 x float>, ptr %53, align 4
  %55 = fadd <8 x float> %27, %42
  %56 = fadd <8 x float> %31, %46
  %57 = fadd <8 x float> %35, %50
  %58 = fadd <8 x float> %39, %54
  %59 = mul i64 %vector2, 1
  %60 = getelementptr float, ptr %13, i64 %59
  store <8 x float> %55, ptr %60, align 4
  %61 = mul i64 %vector2, 1
  %62 = getelementptr float, ptr %13, i64 %61
  %63 = getelementptr float, ptr %62, i64 8
  store <8 x float> %56, ptr %63, align 4
  %64 = mul i64 %vector2, 1
  %65 = getelementptr float, ptr %13, i64 %64
  %66 = getelementptr float, ptr %65, i64 16
  store <8 x float> %57, ptr %66, align 4
  %67 = mul i64 %vector2, 1
  %68 = getelementptr float, ptr %13, i64 %67
  %69 = getelementptr float, ptr %68, i64 24
  store <8 x float> %58, ptr %69, align 4
  %70 = add i64 %vector2, 32
  br label %vector.head

vector.end:                                       ; preds = %vector.head
  br label %tail.head

tail.head:                                        ; preds = %tail, %vector.end
  %tail3 = phi i64 [ %23, %vector.end ], [ %85, %tail ]
  %71 = icmp slt i64 %tail3, %20
  br i1 %71, label %tail, label %tail.end

tail:                                             ; preds = %tail.head
  %72 = sub i64 %20, %tail3
  %73 = call i64 @llvm.umin.i64(i64 %72, i64 8)
  %74 = trunc i64 %73 to i32
  %.splatinsert = insertelement <8 x i32> poison, i32 %74, i64 0
  %.splat = shufflevector <8 x i32> %.splatinsert, <8 x i32> poison, <8 x i32> zeroinitializer
  %75 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.splat
  %76 = mul i64 %tail3, 1
  %77 = getelementptr float, ptr %13, i64 %76
  %78 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %77, i32 4, <8 x i1> %75, <8 x float> zeroinitializer)
  %79 = mul i64 %tail3, 1
  %80 = getelementptr float, ptr %10, i64 %79
  %81 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %80, i32 4, <8 x i1> %75, <8 x float> zeroinitializer)
  %82 = fadd <8 x float> %78, %81
  %83 = mul i64 %tail3, 1
  %84 = getelementptr float, ptr %13, i64 %83
  call void @llvm.masked.store.v8f32.p0(<8 x float> %82, ptr %84, i32 4, <8 x i1> %75)
  %85 = add i64 %tail3, 8
  br label %tail.head

tail.end:                                         ; preds = %tail.head
  %86 = add i64 %16, 1
  %87 = add i64 %task1, 1
  br label %task.head

task.end:                                         ; preds = %task.head
  br label %done
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.smin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.umin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: read)
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr nocapture, i32 immarg, <8 x i1>, <8 x float>) #2

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: write)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr nocapture, i32 immarg, <8 x i1>) #3

attributes #0 = { nounwind }
attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #2 = { nocallback nofree nosync nounwind willreturn memory(argmem: read) }
attributes #3 = { nocallback nofree nosync nounwind willreturn memory(argmem: write) }

; == sum
; loop [p0, p1] kept 1 vector 0
;   buffer b0 f32
;   buffer b1 f32 written
;   access a0 b0 + 0 [1, p2]
;   access a1 b1 + 0 [1, 0]
;   %0 f32 = load a0
;   %1 f32 = reduce sum %0
;   %2 f32 = store a1 %1
; ModuleID = 'kernel'
source_filename = "kernel"

; Function Attrs: nounwind
define void @kernel(ptr %0, ptr %1, i64 %2, i64 %3) #0 {
entry:
  %4 = icmp slt i64 %2, %3
  br i1 %4, label %work, label %done

work:                                             ; preds = %entry
  %5 = getelementptr i64, ptr %1, i64 0
  %6 = load i64, ptr %5, align 8
  %7 = getelementptr i64, ptr %1, i64 1
  %8 = load i64, ptr %7, align 8
  %9 = getelementptr ptr, ptr %0, i64 0
  %10 = load ptr, ptr %9, align 8
  %11 = getelementptr ptr, ptr %0, i64 1
  %12 = load ptr, ptr %11, align 8
  %13 = getelementptr i64, ptr %1, i64 2
  %14 = load i64, ptr %13, align 8
  %15 = add i64 %6, 4095
  %16 = lshr i64 %15, 12
  br label %task.head

done:                                             ; preds = %task.end, %entry
  ret void

task.head:                                        ; preds = %tail.end, %work
  %task1 = phi i64 [ %2, %work ], [ %151, %tail.end ]
  %17 = phi i64 [ %2, %work ], [ %150, %tail.end ]
  %18 = icmp slt i64 %task1, %3
  br i1 %18, label %task, label %task.end

task:                                             ; preds = %task.head
  %19 = mul i64 %17, 4096
  %20 = add i64 %19, 4096
  %21 = call i64 @llvm.smin.i64(i64 %20, i64 %6)
  %22 = sub i64 %21, %19
  %23 = and i64 %22, -32
  %24 = add i64 %19, %23
  br label %vector.head

vector.head:                                      ; preds = %block.end, %task
  %vector2 = phi i64 [ %19, %task ], [ %116, %block.end ]
  %25 = icmp slt i64 %vector2, %24
  br i1 %25, label %vector, label %vector.end

vector:                                           ; preds = %vector.head
  br label %block.head

block.head:                                       ; preds = %reduced.end, %vector
  %block3 = phi i64 [ 0, %vector ], [ %92, %reduced.end ]
  %26 = phi <8 x float> [ zeroinitializer, %vector ], [ %64, %reduced.end ]
  %27 = phi <8 x float> [ zeroinitializer, %vector ], [ %70, %reduced.end ]
  %28 = phi <8 x float> [ zeroinitializer, %vector ], [ %71, %reduced.end ]
  %29 = phi <8 x float> [ zeroinitializer, %vector ], [ %77, %reduced.end ]
  %30 = phi <8 x float> [ zeroinitializer, %vector ], [ %78, %reduced.end ]
  %31 = phi <8 x float> [ zeroinitializer, %vector ], [ %84, %reduced.end ]
  %32 = phi <8 x float> [ zeroinitializer, %vector ], [ %85, %reduced.end ]
  %33 = phi <8 x float> [ zeroinitializer, %vector ], [ %91, %reduced.end ]
  %34 = icmp slt i64 %block3, %8
  br i1 %34, label %block, label %block.end

block:                                            ; preds = %block.head
  %35 = add i64 %block3, 256
  %36 = call i64 @llvm.smin.i64(i64 %35, i64 %8)
  br label %reduced.head

reduced.head:                                     ; preds = %reduced, %block
  %reduced4 = phi i64 [ %block3, %block ], [ %63, %reduced ]
  %37 = phi <8 x float> [ zeroinitializer, %block ], [ %59, %reduced ]
  %38 = phi <8 x float> [ zeroinitializer, %block ], [ %60, %reduced ]
  %39 = phi <8 x float> [ zeroinitializer, %block ], [ %61, %reduced ]
  %40 = phi <8 x float> [ zeroinitializer, %block ], [ %62, %reduced ]
  %41 = icmp slt i64 %reduced4, %36
  br i1 %41, label %reduced, label %reduced.end

reduced:                                          ; preds = %reduced.head
  %42 = mul i64 %reduced4, %14
  %43 = getelementptr float, ptr %10, i64 %42
  %44 = mul i64 %vector2, 1
  %45 = getelementptr float, ptr %43, i64 %44
  %46 = load <8 x float>, ptr %45, align 4
  %47 = mul i64 %vector2, 1
  %48 = getelementptr float, ptr %43, i64 %47
  %49 = getelementptr float, ptr %48, i64 8
  %50 = load <8 x float>, ptr %49, align 4
  %51 = mul i64 %vector2, 1
  %52 = getelementptr float, ptr %43, i64 %51
  %53 = getelementptr float, ptr %52, i64 16
  %54 = load <8 x float>, ptr %53, align 4
  %55 = mul i64 %vector2, 1
  %56 = getelementptr float, ptr %43, i64 %55
  %57 = getelementptr float, ptr %56, i64 24
  %58 = load <8 x float>, ptr %57, align 4
  %59 = fadd <8 x float> %46, %37
  %60 = fadd <8 x float> %50, %38
  %61 = fadd <8 x float> %54, %39
  %62 = fadd <8 x float> %58, %40
  %63 = add i64 %reduced4, 1
  br label %reduced.head

reduced.end:                                      ; preds = %reduced.head
  %64 = fadd <8 x float> %26, %37
  %65 = fsub <8 x float> %64, %26
  %66 = fsub <8 x float> %37, %65
  %67 = fsub <8 x float> %64, %65
  %68 = fsub <8 x float> %26, %67
  %69 = fadd <8 x float> %68, %66
  %70 = fadd <8 x float> %27, %69
  %71 = fadd <8 x float> %28, %38
  %72 = fsub <8 x float> %71, %28
  %73 = fsub <8 x float> %38, %72
  %74 = fsub <8 x float> %71, %72
  %75 = fsub <8 x float> %28, %74
  %76 = fadd <8 x float> %75, %73
  %77 = fadd <8 x float> %29, %76
  %78 = fadd <8 x float> %30, %39
  %79 = fsub <8 x float> %78, %30
  %80 = fsub <8 x float> %39, %79
  %81 = fsub <8 x float> %78, %79
  %82 = fsub <8 x float> %30, %81
  %83 = fadd <8 x float> %82, %80
  %84 = fadd <8 x float> %31, %83
  %85 = fadd <8 x float> %32, %40
  %86 = fsub <8 x float> %85, %32
  %87 = fsub <8 x float> %40, %86
  %88 = fsub <8 x float> %85, %86
  %89 = fsub <8 x float> %32, %88
  %90 = fadd <8 x float> %89, %87
  %91 = fadd <8 x float> %33, %90
  %92 = add i64 %block3, 256
  br label %block.head

block.end:                                        ; preds = %block.head
  %93 = fadd <8 x float> %26, %27
  %94 = fcmp uno <8 x float> %27, %27
  %95 = select <8 x i1> %94, <8 x float> %26, <8 x float> %93
  %96 = fadd <8 x float> %28, %29
  %97 = fcmp uno <8 x float> %29, %29
  %98 = select <8 x i1> %97, <8 x float> %28, <8 x float> %96
  %99 = fadd <8 x float> %30, %31
  %100 = fcmp uno <8 x float> %31, %31
  %101 = select <8 x i1> %100, <8 x float> %30, <8 x float> %99
  %102 = fadd <8 x float> %32, %33
  %103 = fcmp uno <8 x float> %33, %33
  %104 = select <8 x i1> %103, <8 x float> %32, <8 x float> %102
  %105 = mul i64 %vector2, 1
  %106 = getelementptr float, ptr %12, i64 %105
  store <8 x float> %95, ptr %106, align 4
  %107 = mul i64 %vector2, 1
  %108 = getelementptr float, ptr %12, i64 %107
  %109 = getelementptr float, ptr %108, i64 8
  store <8 x float> %98, ptr %109, align 4
  %110 = mul i64 %vector2, 1
  %111 = getelementptr float, ptr %12, i64 %110
  %112 = getelementptr float, ptr %111, i64 16
  store <8 x float> %101, ptr %112, align 4
  %113 = mul i64 %vector2, 1
  %114 = getelementptr float, ptr %12, i64 %113
  %115 = getelementptr float, ptr %114, i64 24
  store <8 x float> %104, ptr %115, align 4
  %116 = add i64 %vector2, 32
  br label %vector.head

vector.end:                                       ; preds = %vector.head
  br label %tail.head

tail.head:                                        ; preds = %block.end13, %vector.end
  %tail5 = phi i64 [ %24, %vector.end ], [ %149, %block.end13 ]
  %117 = icmp slt i64 %tail5, %21
  br i1 %117, label %tail, label %tail.end

tail:                                             ; preds = %tail.head
  %118 = sub i64 %21, %tail5
  %119 = call i64 @llvm.umin.i64(i64 %118, i64 8)
  %120 = trunc i64 %119 to i32
  %.splatinsert = insertelement <8 x i32> poison, i32 %120, i64 0
  %.splat = shufflevector <8 x i32> %.splatinsert, <8 x i32> poison, <8 x i32> zeroinitializer
  %121 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.splat
  br label %block.head6

block.head6:                                      ; preds = %reduced.end12, %tail
  %block8 = phi i64 [ 0, %tail ], [ %143, %reduced.end12 ]
  %122 = phi <8 x float> [ zeroinitializer, %tail ], [ %136, %reduced.end12 ]
  %123 = phi <8 x float> [ zeroinitializer, %tail ], [ %142, %reduced.end12 ]
  %124 = icmp slt i64 %block8, %8
  br i1 %124, label %block7, label %block.end13

block7:                                           ; preds = %block.head6
  %125 = add i64 %block8, 256
  %126 = call i64 @llvm.smin.i64(i64 %125, i64 %8)
  br label %reduced.head9

reduced.head9:                                    ; preds = %reduced10, %block7
  %reduced11 = phi i64 [ %block8, %block7 ], [ %135, %reduced10 ]
  %127 = phi <8 x float> [ zeroinitializer, %block7 ], [ %134, %reduced10 ]
  %128 = icmp slt i64 %reduced11, %126
  br i1 %128, label %reduced10, label %reduced.end12

reduced10:                                        ; preds = %reduced.head9
  %129 = mul i64 %reduced11, %14
  %130 = getelementptr float, ptr %10, i64 %129
  %131 = mul i64 %tail5, 1
  %132 = getelementptr float, ptr %130, i64 %131
  %133 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %132, i32 4, <8 x i1> %121, <8 x float> zeroinitializer)
  %134 = fadd <8 x float> %133, %127
  %135 = add i64 %reduced11, 1
  br label %reduced.head9

reduced.end12:                                    ; preds = %reduced.head9
  %136 = fadd <8 x float> %122, %127
  %137 = fsub <8 x float> %136, %122
  %138 = fsub <8 x float> %127, %137
  %139 = fsub <8 x float> %136, %137
  %140 = fsub <8 x float> %122, %139
  %141 = fadd <8 x float> %140, %138
  %142 = fadd <8 x float> %123, %141
  %143 = add i64 %block8, 256
  br label %block.head6

block.end13:                                      ; preds = %block.head6
  %144 = fadd <8 x float> %122, %123
  %145 = fcmp uno <8 x float> %123, %123
  %146 = select <8 x i1> %145, <8 x float> %122, <8 x float> %144
  %147 = mul i64 %tail5, 1
  %148 = getelementptr float, ptr %12, i64 %147
  call void @llvm.masked.store.v8f32.p0(<8 x float> %146, ptr %148, i32 4, <8 x i1> %121)
  %149 = add i64 %tail5, 8
  br label %tail.head

tail.end:                                         ; preds = %tail.head
  %150 = add i64 %17, 1
  %151 = add i64 %task1, 1
  br label %task.head

task.end:                                         ; preds = %task.head
  br label %done
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.smin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.umin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: read)
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr nocapture, i32 immarg, <8 x i1>, <8 x float>) #2

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: write)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr nocapture, i32 immarg, <8 x i1>) #3

attributes #0 = { nounwind }
attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #2 = { nocallback nofree nosync nounwind willreturn memory(argmem: read) }
attributes #3 = { nocallback nofree nosync nounwind willreturn memory(argmem: write) }
